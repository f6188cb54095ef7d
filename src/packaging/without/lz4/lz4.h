/*
 * Stands for LZ4's header where the library is missing. Data become one run of literals, which is valid LZ4; other
 * data than such a run cannot be unpacked.
 */
#ifndef GPUTRACE_PACKAGING_WITHOUT_LZ4_H
#define GPUTRACE_PACKAGING_WITHOUT_LZ4_H

#include <string.h>

#define LZ4_COMPRESSBOUND(size) ((size) + (size) / 255 + 16)

static inline int LZ4_compressBound(int size)
{
    return LZ4_COMPRESSBOUND(size);
}

/* Writes a token, the length beyond its 15 in bytes of at most 255, and the data. Returns their size; 0: no space. */
static inline int LZ4_compress_default(const char *data, char *packed, int size, int space)
{
    int at = 0;
    if (space < LZ4_COMPRESSBOUND(size))
        return 0;
    packed[at++] = (char)((size < 15 ? size : 15) << 4);
    for (int left = size - 15; left >= 0; left -= 255)
        packed[at++] = (char)(left < 255 ? left : 255);
    memcpy(packed + at, data, (size_t)size);
    return at + size;
}

/* Returns the size of the data, or -1 if PACKED is more than one run of literals. */
static inline int LZ4_decompress_safe(const char *packed, char *data, int packed_size, int space)
{
    int at = 1, size = packed_size > 0 ? (unsigned char)packed[0] >> 4 : -1, more = 255;
    for (; size >= 15 && more == 255 && at < packed_size && size <= packed_size; at++)
        size += more = (unsigned char)packed[at];
    if (size < 0 || size > space || at + size != packed_size)
        return -1;
    memcpy(data, packed + at, (size_t)size);
    return size;
}

#endif
