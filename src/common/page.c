#include "common/page.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 * 1024 * 1024)

void *large_alloc(size_t size)
{
    void *memory = NULL;
    if (size < LARGE_PAGE)
        return malloc(size);
    if (posix_memalign(&memory, LARGE_PAGE, size) != 0)
        return NULL;
    madvise(memory, size / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE); /* small pages do as well */
    return memory;
}
