"""What a picture shows, static or interactive: layers in two dimensions, and facts about nodes."""
