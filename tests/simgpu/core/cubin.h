/* Device code as the driver would have it: an ELF file with the kernels and variables of an image in it, and no
 * instructions. It can be loaded again, as one that nvcc made. */
#ifndef SIMGPU_CORE_CUBIN_H
#define SIMGPU_CORE_CUBIN_H

#include <stddef.h>

struct image;

/* Of what IMAGE holds now. To be freed. With the simulator's lock held, when others know IMAGE. */
void *cubin_make(const struct image *image, size_t *size);

#endif
