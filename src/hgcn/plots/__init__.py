"""Static pictures of a scene, drawn with matplotlib."""
