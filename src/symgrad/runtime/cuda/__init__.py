"""Running programs on a GPU, through its driver alone."""
