/*
 * Checks and makes UTF-8, shows text on a terminal safely, cuts names, counts things in words, and finds the known
 * word nearest to an unknown one.
 */
#ifndef GPUTRACE_COMMON_TEXT_H
#define GPUTRACE_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* Whether TEXT ends with ENDING, and has more before it. */
static inline bool text_ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), size = strlen(ending);
    return length > size && strcmp(text + length - size, ending) == 0;
}

/* U+FFFD, in place of bytes that are not a character. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the character at TEXT, 1 to 4; 0 when the bytes there are not valid UTF-8 (overlong, surrogate, cut). */
size_t utf8_size(const char *text, size_t length);

/* Writes the first character of TEXT (LENGTH bytes, at least one) in a form that is safe on a terminal: \n, \t or \x1b
 * for control characters, \u202e for those that turn the direction of text, U+FFFD for a byte that is not UTF-8. *SIZE
 * becomes the bytes of TEXT that it takes. Returns the bytes written. */
#define UTF8_VISIBLE_BYTES 8
size_t utf8_visible(char out[UTF8_VISIBLE_BYTES], const char *text, size_t length, size_t *size);

/* Writes the wide string (UTF-32 here) as UTF-8 into SPACE bytes, without a final NUL, cut between characters.
 * Returns the bytes written. No allocation, no locale. */
size_t utf8_from_wide(char *out, size_t space, const wchar_t *text);

/* Makes UTF-8 of COUNT units of WIDTH bytes: 2 UTF-16, 4 UTF-32, as the machine has them; they need not be aligned. */
size_t utf8_from_units(char *out, size_t space, const void *units, size_t count, size_t width);

/* Reads a quantity of the command line, "7", "1.5s", "200 us", "2GiB" or "40%", into *VALUE: times in ns, sizes in
 * bytes. Returns the kind of its unit: 't' of time, 'b' of bytes, '%', '1' if it has none; 0: it is not a quantity. */
char quantity_read(const char *text, double *value);

/*
 * Texts that are recorded are cut at this many bytes. At the cut stands a hash of the whole text, so that two texts
 * that begin alike stay two.
 */
#define TEXT_MAX ((size_t)16 << 10)

/* Writes the first bytes of TEXT, which has at least MOST, into the MOST bytes of OUT, where it may lie already, and
 * then "...[cut, hash HASH]". MOST is at least TEXT_CUT_LEAST. No allocation. */
#define TEXT_CUT_LEAST 64u
void text_cut(char *out, const char *text, size_t most, uint64_t hash);

/* A count with separators and its noun: "1 event", "12,345 events". NOUN NULL: the number alone. */
struct text_count {
    char text[64];
};
struct text_count text_count(uint64_t count, const char *noun);

/* Appends WORD to LIST, "a, b", in SIZE bytes, where it may be cut. */
void text_list_add(char *list, size_t size, const char *word);

/* "Did you mean …?" */
struct suggestion {
    const char *given;
    size_t length;
    const char *word; /* the nearest word so far; NULL while none is near enough */
    size_t distance;  /* of it */
};

/* Starts a search for GIVEN (LENGTH bytes, kept by pointer). */
struct suggestion suggestion_for(const char *given, size_t length);

/* Takes WORD, and returns true, when it is nearer than the words before, and near enough to be a typing error. Upper
 * and lower case are the same. */
bool suggestion_consider(struct suggestion *suggestion, const char *word);

#endif
