/*
 * Texts as callbacks are given them (struct gputrace_text), of strings that end with a NUL.
 */
#ifndef GPUTRACE_AGENT_DISPATCH_TEXT_H
#define GPUTRACE_AGENT_DISPATCH_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gputrace/callbacks.h>

/* LENGTH bytes at BYTES; of more than a text can have, the beginning. The bytes stay the caller's. */
static inline struct gputrace_text text_of_bytes(const char *bytes, size_t length)
{
    return (struct gputrace_text){bytes, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length};
}

/* NULL is the empty one. */
static inline struct gputrace_text text_of(const char *terminated)
{
    return text_of_bytes(terminated, terminated ? strlen(terminated) : 0);
}

#endif
