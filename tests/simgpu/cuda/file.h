/* Files of device code. */
#ifndef SIMGPU_CUDA_FILE_H
#define SIMGPU_CUDA_FILE_H

#include <stddef.h>

/* The file's bytes with a NUL behind them, to be freed; *SIZE (may be NULL) is without it. NULL: cannot be read. */
void *file_read(const char *path, size_t *size);

#endif
