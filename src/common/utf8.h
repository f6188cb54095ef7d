/*
 * UTF-8: what is valid, and how wide characters become it.
 */
#ifndef GPUTRACE_COMMON_UTF8_H
#define GPUTRACE_COMMON_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* U+FFFD, what stands for bytes that are no character. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the character at TEXT, 1 to 4; 0 when the bytes there are not valid UTF-8 (overlong, surrogate, cut). */
size_t utf8_size(const char *text, size_t length);

/* Writes the first character of TEXT (LENGTH bytes, at least one) as a terminal may have it: control characters become
 * \n, \t, \x1b, those that turn the direction of text \u202e, a byte that is not UTF-8 U+FFFD, all others stay. *SIZE
 * becomes the bytes of TEXT that it takes. Gives the bytes written. */
#define UTF8_VISIBLE_BYTES 8
size_t utf8_visible(char out[UTF8_VISIBLE_BYTES], const char *text, size_t length, size_t *size);

/* Writes the wide string (UTF-32 here) as UTF-8 into ROOM bytes, without a final NUL, cut between characters.
 * Gives the bytes written. No allocation, no locale. */
size_t utf8_from_wide(char *out, size_t room, const wchar_t *text);

/* The same of COUNT units of WIDTH bytes: 2 UTF-16, 4 UTF-32, as the machine has them; they need not be aligned. */
size_t utf8_from_units(char *out, size_t room, const void *units, size_t count, size_t width);

#endif
