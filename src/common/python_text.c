#include "common/python_text.h"

#include "common/text.h"

/* From bits 2 to 6 of the state, or 16 to 20 where the first 16 say whether the string is interned. */
struct python_text python_text_of(uint32_t state)
{
    unsigned bits = (state & 0xfffc) == 0 ? state >> 16 : state >> 2;
    unsigned width = bits & 7;
    bool is_compact = bits >> 3 & 1, is_usual = is_compact && (width == 1 || width == 2 || width == 4);
    return (struct python_text){.width = is_usual ? width : 0, .is_ascii = bits >> 4 & 1};
}

static size_t from_latin1(char *out, size_t space, const unsigned char *characters, uint64_t count)
{
    size_t used = 0;
    for (uint64_t i = 0; i < count; i++) {
        size_t size = characters[i] < 0x80 ? 1 : 2;
        if (size > space - used)
            break;
        if (size == 2)
            out[used++] = (char)(0xc0 | characters[i] >> 6);
        out[used++] = (char)(size == 2 ? 0x80 | (characters[i] & 0x3f) : characters[i]);
    }
    return used;
}

size_t python_text_utf8(char *out, size_t space, const void *characters, uint64_t count, unsigned width)
{
    return width == 1 ? from_latin1(out, space, characters, count)
                      : utf8_from_units(out, space, characters, count, width);
}
