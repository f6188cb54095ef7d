#include "cuda/file.h"

#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 1 << 16 };

void *file_read(const char *path, size_t *size)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file)
        return NULL;
    char *data = NULL;
    size_t all = 0, got;
    do {
        data = realloc(data, all + PIECE + 1);
        if (!data)
            abort();
        got = fread(data + all, 1, PIECE, file);
        all += got;
    } while (got);
    data[all] = '\0';
    fclose(file);
    if (size)
        *size = all;
    return data;
}
