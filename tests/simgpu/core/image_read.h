/* What is in an image of device code: PTX text and cubins are read; of fat binaries, which are compressed, is only
 * known whether there is a cubin for this device in them. */
#ifndef SIMGPU_CORE_IMAGE_READ_H
#define SIMGPU_CORE_IMAGE_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "core/function.h"

/* False when DATA is no image. Sets closed when all of its contents are known; ptx or cubin, as far as they are. */
bool image_read(struct image *image, const void *data);

/* For image_read. */
struct function *image_add_function(struct image *image, const char *name);
void image_add_global(struct image *image, const char *name, size_t size);

#endif
