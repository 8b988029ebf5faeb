"""Running compiled programs: executables, arenas, the disk cache."""
