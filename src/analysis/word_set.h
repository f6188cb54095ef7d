/*
 * A fixed list of words, to be found quickly by their bytes: the keys of events.
 */
#ifndef GPUTRACE_ANALYSIS_WORD_SET_H
#define GPUTRACE_ANALYSIS_WORD_SET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WORD_SET_SLOTS 256 /* far more than words, so that the first look finds them */

struct word_set {
    struct {
        const char *word; /* NULL: free */
        uint8_t length, number;
    } slots[WORD_SET_SLOTS];
};

static inline size_t word_set_slot(const char *word, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)word;
    unsigned hash =
        length ? (unsigned)length * 37u + bytes[0] * 5u + bytes[length / 2] * 11u + bytes[length - 1] * 3u : 0;
    return (hash ^ hash >> 5) % WORD_SET_SLOTS;
}

/* WORD, a literal of less than 256 bytes, is number NUMBER; there are far fewer than slots. */
static inline void word_set_add(struct word_set *set, const char *word, size_t number)
{
    size_t length = strlen(word), slot = word_set_slot(word, length);
    while (set->slots[slot].word)
        slot = (slot + 1) % WORD_SET_SLOTS;
    set->slots[slot].word = word;
    set->slots[slot].length = (uint8_t)length;
    set->slots[slot].number = (uint8_t)number;
}

/* The number of WORD; -1: it is not in the set. */
static inline int word_set_find(const struct word_set *set, const char *word, size_t length)
{
    for (size_t slot = word_set_slot(word, length); set->slots[slot].word; slot = (slot + 1) % WORD_SET_SLOTS)
        if (set->slots[slot].length == length && memcmp(set->slots[slot].word, word, length) == 0)
            return set->slots[slot].number;
    return -1;
}

#endif
