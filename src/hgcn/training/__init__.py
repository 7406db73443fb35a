"""How a network is trained: the problem, the task, the loop, scores and presets."""
