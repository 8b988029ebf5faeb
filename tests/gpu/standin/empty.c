// A library without functions: NVIDIA's cuBLAS needs another one, and only its name is looked for.
