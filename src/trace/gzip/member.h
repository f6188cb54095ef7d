/*
 * A member of a .gz file as ours are: gzip's header (RFC 1952) has an extra field with the size of the whole member. So
 * the next one is found without unpacking this one, and several are unpacked at once. Whoever does not know the field
 * passes over it, as the format asks for.
 */
#ifndef GPUTRACE_TRACE_GZIP_MEMBER_H
#define GPUTRACE_TRACE_GZIP_MEMBER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The field is two letters, the size of what follows, and the member's size; numbers have their low byte first. */
enum {
    MEMBER_FIELD_SIZE = 8,
    MEMBER_FIELD_AT = 12, /* bytes from the member's start */
    MEMBER_SIZE_AT = 16,
    MEMBER_HEAD_SIZE = 20,
    MEMBER_TAIL_SIZE = 8,           /* a checksum, and the length of the text */
    MEMBER_TEXT_MOST = 1 << 20,     /* of text: more becomes several members */
    MEMBER_SIZE_MOST = 1088 * 1024, /* what that becomes at worst */
};

static inline uint32_t member_read_u32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline void member_write_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

#define MEMBER_BEGIN     \
    {                    \
        0x1f, 0x8b, 8, 4 \
    } /* deflated, with extra fields and nothing else */
#define MEMBER_EXTRA                         \
    {                                        \
        MEMBER_FIELD_SIZE, 0, 'G', 'T', 4, 0 \
    }

/* Writes the MEMBER_HEAD_SIZE bytes of the header of a member of SIZE bytes. */
static inline void member_write_head(uint8_t *head, uint8_t system, uint32_t size)
{
    static const uint8_t begin[] = MEMBER_BEGIN, extra[] = MEMBER_EXTRA;
    memset(head, 0, MEMBER_HEAD_SIZE);
    memcpy(head, begin, sizeof(begin));
    head[9] = system;
    memcpy(head + MEMBER_FIELD_AT - 2, extra, sizeof(extra));
    member_write_u32(head + MEMBER_SIZE_AT, size);
}

/* What the MEMBER_HEAD_SIZE bytes of a header say; 0: it is none of ours. */
static inline size_t member_size(const uint8_t *head)
{
    static const uint8_t begin[] = MEMBER_BEGIN, extra[] = MEMBER_EXTRA;
    if (memcmp(head, begin, sizeof(begin)) != 0 || memcmp(head + MEMBER_FIELD_AT - 2, extra, sizeof(extra)) != 0)
        return 0;
    size_t size = member_read_u32(head + MEMBER_SIZE_AT);
    return size > MEMBER_HEAD_SIZE + MEMBER_TAIL_SIZE && size <= MEMBER_SIZE_MOST ? size : 0;
}

#endif
