"""Programs for NVIDIA's GPUs: the loop IR mapped to threads, and the text of its kernels."""
