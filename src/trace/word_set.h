/*
 * Words of a table, and a set of some of them, which are found by their bytes.
 */
#ifndef GPUTRACE_TRACE_WORD_SET_H
#define GPUTRACE_TRACE_WORD_SET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct word {
    const char *text;
    size_t length;
};

#define WORD_SET_SLOTS 256 /* far more than words, so that the first look finds them */

struct word_set {
    struct {
        const char *text; /* NULL: free */
        uint8_t length, number;
    } slots[WORD_SET_SLOTS];
};

static inline size_t word_set_slot(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned hash =
        length ? (unsigned)length * 37u + bytes[0] * 5u + bytes[length / 2] * 11u + bytes[length - 1] * 3u : 0;
    return (hash ^ hash >> 5) % WORD_SET_SLOTS;
}

/* WORD, of less than 256 bytes, is number NUMBER, from 1 to 255; there are far fewer than slots. */
static inline void word_set_add(struct word_set *set, const struct word *word, size_t number)
{
    size_t slot = word_set_slot(word->text, word->length);
    while (set->slots[slot].text)
        slot = (slot + 1) % WORD_SET_SLOTS;
    set->slots[slot].text = word->text;
    set->slots[slot].length = (uint8_t)word->length;
    set->slots[slot].number = (uint8_t)number;
}

/* The number of this word; 0: it is not in the set. */
static inline unsigned word_set_find(const struct word_set *set, const char *text, size_t length)
{
    for (size_t slot = word_set_slot(text, length); set->slots[slot].text; slot = (slot + 1) % WORD_SET_SLOTS)
        if (set->slots[slot].length == length && memcmp(set->slots[slot].text, text, length) == 0)
            return set->slots[slot].number;
    return 0;
}

#endif
