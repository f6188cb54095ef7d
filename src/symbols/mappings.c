#include "symbols/mappings.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/log.h"

/* What is left of a line. */
struct cursor {
    const char *at, *end;
};

static bool take(struct cursor *cursor, char wanted)
{
    if (cursor->at == cursor->end || *cursor->at != wanted)
        return false;
    cursor->at++;
    return true;
}

/* A number of at most 64 bits in BASE, 10 or 16. */
static bool take_number(struct cursor *cursor, unsigned base, uint64_t *number)
{
    const char *first = cursor->at;
    for (*number = 0; cursor->at < cursor->end; cursor->at++) {
        unsigned char c = (unsigned char)*cursor->at;
        if (!(base == 16 ? isxdigit(c) : isdigit(c)))
            break;
        if (*number > (UINT64_MAX - 15) / base)
            return false;
        *number = *number * base + (unsigned)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return cursor->at > first;
}

/* "r-xp": what may be done there does not matter here. */
static bool take_permissions(struct cursor *cursor)
{
    if (cursor->end - cursor->at < 4)
        return false;
    cursor->at += 4;
    return true;
}

/* "7f5a01000000-7f5a01028000 r-xp 00028000 08:01 1234    /lib/libc.so.6" */
static int read_line(struct mappings *mappings, struct names *names, struct cursor cursor)
{
    struct mapping read = {0};
    uint64_t major, minor;
    bool is_line = take_number(&cursor, 16, &read.start) && take(&cursor, '-') && take_number(&cursor, 16, &read.end) &&
                   take(&cursor, ' ') && take_permissions(&cursor) && take(&cursor, ' ') &&
                   take_number(&cursor, 16, &read.offset) && take(&cursor, ' ') && take_number(&cursor, 16, &major) &&
                   take(&cursor, ':') && take_number(&cursor, 16, &minor) && take(&cursor, ' ') &&
                   take_number(&cursor, 10, &read.inode);
    if (!is_line || read.start >= read.end || read.offset > UINT64_MAX - (read.end - read.start))
        return 0;
    while (take(&cursor, ' '))
        continue;
    uint32_t path = names_put(names, cursor.at, (size_t)(cursor.end - cursor.at));
    if (path == NAMES_NO_MEMORY)
        return -1;
    read.path = names_get(names, path)->text;
    struct mapping *added = array_push(&mappings->items);
    if (!added)
        return error_no_memory("what was mapped");
    *added = read;
    return 0;
}

int mappings_read(struct mappings *mappings, struct names *names, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = newline ? newline : end;
        if (read_line(mappings, names, (struct cursor){text, line_end}) < 0)
            return -1;
        text = newline ? newline + 1 : end;
    }
    return 0;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
    for (size_t i = mappings->items.count; i-- > 0;) {
        const struct mapping *mapping = &mappings->items.items[i];
        if (address >= mapping->start && address < mapping->end)
            return mapping;
    }
    return NULL;
}

void mappings_release(struct mappings *mappings)
{
    array_release(&mappings->items);
}
