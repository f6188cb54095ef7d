/*
 * Checks and makes UTF-8, shows text on a terminal safely, cuts names, counts things in words, finds the known word
 * nearest to an unknown one, quotes words of commands in messages, so that they can be typed into a shell, and writes
 * numbers.
 */
#ifndef GPUTRACE_COMMON_TEXT_H
#define GPUTRACE_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* Returns whether TEXT ends with ENDING and has more before it. */
static inline bool text_ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), size = strlen(ending);
    return length > size && strcmp(text + length - size, ending) == 0;
}

/* U+FFFD, which replaces bytes that are not a character. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Returns the bytes of the character at TEXT, 1 to 4, or 0 if the bytes there are not valid UTF-8 (overlong, surrogate,
 * cut). */
size_t utf8_size(const char *text, size_t length);

/* Returns how many of the LENGTH bytes of TEXT to keep: at most MOST, without cutting a character. */
static inline size_t utf8_cut(const char *text, size_t length, size_t most)
{
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

/* Writes the first character of TEXT (LENGTH bytes, at least one) in a form that is safe on a terminal: \n, \t or \x1b
 * for control characters, \u202e for characters that turn the direction of text, U+FFFD for a byte that is not UTF-8.
 * Sets *SIZE to the bytes of this character in TEXT. Returns the bytes written. */
#define UTF8_VISIBLE_BYTES 8
size_t utf8_visible(char out[UTF8_VISIBLE_BYTES], const char *text, size_t length, size_t *size);

/* Writes the wide string (UTF-32 here) as UTF-8 into SPACE bytes, without a final NUL, cut between characters.
 * Returns the bytes written. No allocation, no locale. */
size_t utf8_from_wide(char *out, size_t space, const wchar_t *text);

/* Writes COUNT units of WIDTH bytes as UTF-8, as utf8_from_wide() does. Units are UTF-16 (WIDTH 2) or UTF-32 (WIDTH 4)
 * in the machine's byte order; they need not be aligned. */
size_t utf8_from_units(char *out, size_t space, const void *units, size_t count, size_t width);

/* Reads a quantity of the command line, "7", "1.5s", "200 us", "2GiB" or "40%", into *VALUE: times in ns, sizes in
 * bytes. Returns the kind of its unit: 't' for time, 'b' for bytes, '%', or '1' if it has none. Returns 0 if TEXT is
 * not a quantity. */
char quantity_read(const char *text, double *value);

/*
 * Recorded texts are cut at this many bytes. A hash of the whole text stands at the cut, so that two texts that begin
 * alike stay different.
 */
#define TEXT_MAX ((size_t)16 << 10)

/* Cuts TEXT, which has at least MOST bytes, to MOST bytes and writes them to OUT, which may be TEXT: its first bytes,
 * then "...[cut, hash HASH]". MOST is at least TEXT_CUT_LEAST. No allocation. */
#define TEXT_CUT_LEAST 64u
void text_cut(char *out, const char *text, size_t most, uint64_t hash);

/* Returns a count with separators and its noun: "1 event", "12,345 events". If NOUN is NULL, returns only the
 * number. */
struct text_count {
    char text[64];
};
struct text_count text_count(uint64_t count, const char *noun);

/* Appends WORD to LIST, "a, b", which has SIZE bytes and is cut if it is too long. */
void text_list_add(char *list, size_t size, const char *word);

/* A search for the known word that is nearest to an unknown one, for "did you mean …?". */
struct suggestion {
    const char *given;
    size_t length;
    const char *word; /* the nearest word so far; NULL while none is near enough */
    size_t distance;  /* distance of `word` */
};

/* Starts a search for GIVEN, which has LENGTH bytes and must stay valid. */
struct suggestion suggestion_for(const char *given, size_t length);

/* Keeps WORD and returns true if it is nearer than the words before and near enough to be a typing error. Case does not
 * matter. */
bool suggestion_consider(struct suggestion *suggestion, const char *word);

/* --- words of a shell --- */

/* Returns TEXT, quoted if a shell needs it. The result lasts until the fourth following call in this thread. */
const char *shell_word(const char *text);

/* Returns the name of a file as shell_word() does, but so that it is not taken for an option: "-x.json" becomes
 * "./-x.json". */
const char *shell_file(const char *name);

/* --- numbers --- */

/*
 * Numbers as decimal text, written to memory of the caller: the hot path of every trace.
 * Each function writes at AT, without a final NUL, and returns the place after the last character.
 */

#define NUMBER_SPACE 24 /* enough for any one number below */

static inline char *number_pair(char *at, unsigned value)
{
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
        "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
        "888990919293949596979899";
    memcpy(at, pairs + 2 * value, 2);
    return at + 2;
}

/* Returns the number of decimal digits of VALUE. */
static inline unsigned number_digits(uint64_t value)
{
    static const uint64_t powers[] = {0,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000u};
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned digits = bits * 1233 >> 12; /* by log10(2): right, or one too few */
    return digits + (value >= powers[digits]);
}

static inline char *number_u64(char *at, uint64_t value)
{
    if (value < 10) {
        *at = (char)('0' + value);
        return at + 1;
    }
    unsigned digits = number_digits(value), left = digits;
    for (; left > 2; left -= 2, value /= 100)
        number_pair(at + left - 2, (unsigned)(value % 100));
    if (left == 2)
        number_pair(at, (unsigned)value);
    else
        *at = (char)('0' + value);
    return at + digits;
}

static inline char *number_i64(char *at, int64_t value)
{
    if (value < 0)
        *at++ = '-';
    return number_u64(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Writes nanoseconds as microseconds with three decimals. */
static inline char *number_us(char *at, uint64_t ns)
{
    at = number_u64(at, ns / 1000);
    unsigned rest = (unsigned)(ns % 1000);
    *at++ = '.';
    *at++ = (char)('0' + rest / 100);
    return number_pair(at, rest % 100);
}

/* Writes a value from 0 to 1e12, rounded to six decimals. Values outside become the nearest bound, NaN becomes 0. */
static inline char *number_fixed6(char *at, double value)
{
    if (!(value > 0))
        value = 0;
    if (value > 1e12)
        value = 1e12;
    uint64_t scaled = (uint64_t)(value * 1e6 + 0.5);
    at = number_u64(at, scaled / 1000000);
    unsigned rest = (unsigned)(scaled % 1000000);
    *at++ = '.';
    at = number_pair(at, rest / 10000);
    at = number_pair(at, rest / 100 % 100);
    return number_pair(at, rest % 100);
}

/* Writes "0x" and at least one hexadecimal digit. */
static inline char *number_hex(char *at, uint64_t value)
{
    *at++ = '0';
    *at++ = 'x';
    int shift = 60;
    while (shift > 0 && (value >> shift) == 0)
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[(value >> shift) & 15];
    return at;
}

/* --- words of a table, and a hash set of words --- */

struct word {
    const char *text;
    size_t length;
};

#define WORD_SET_SLOTS 256 /* far more than words, so that most words are in their first slot */

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

/* Adds WORD, of less than 256 bytes, with NUMBER, from 1 to 255. There must be far fewer words than slots. */
static inline void word_set_add(struct word_set *set, const struct word *word, size_t number)
{
    size_t slot = word_set_slot(word->text, word->length);
    while (set->slots[slot].text)
        slot = (slot + 1) % WORD_SET_SLOTS;
    set->slots[slot].text = word->text;
    set->slots[slot].length = (uint8_t)word->length;
    set->slots[slot].number = (uint8_t)number;
}

/* Returns the number of the word, or 0 if it is not in the set. */
static inline unsigned word_set_find(const struct word_set *set, const char *text, size_t length)
{
    for (size_t slot = word_set_slot(text, length); set->slots[slot].text; slot = (slot + 1) % WORD_SET_SLOTS)
        if (set->slots[slot].length == length && memcmp(set->slots[slot].text, text, length) == 0)
            return set->slots[slot].number;
    return 0;
}

#endif
