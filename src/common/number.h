/*
 * Numbers as decimal text, written to memory of the caller: the hot path of every trace.
 * Each function writes at AT, without a final NUL, and returns the place after the last character.
 */
#ifndef GPUTRACE_COMMON_NUMBER_H
#define GPUTRACE_COMMON_NUMBER_H

#include <stdint.h>
#include <string.h>

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

/* How many decimal digits a number has. */
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

/* Nanoseconds as microseconds with three decimals. */
static inline char *number_us(char *at, uint64_t ns)
{
    at = number_u64(at, ns / 1000);
    unsigned rest = (unsigned)(ns % 1000);
    *at++ = '.';
    *at++ = (char)('0' + rest / 100);
    return number_pair(at, rest % 100);
}

/* A value from 0 to 1e12 with six decimals, rounded; outside of that the nearest bound, for NaN 0. */
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

/* "0x" and at least one hexadecimal digit. */
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

#endif
