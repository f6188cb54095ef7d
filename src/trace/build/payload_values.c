#include "trace/build/payload_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/json_out.h"
#include "common/number.h"
#include "common/buffer.h"
#include "common/text.h"

#define BYTES_SHOWN 256u

/* A binary number of EXPONENT and FRACTION bits below its sign. */
static double real_of(uint64_t bits, unsigned exponent_bits, unsigned fraction_bits)
{
    uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
    int exponent = (int)(bits >> fraction_bits & ((UINT64_C(1) << exponent_bits) - 1));
    int most = (1 << exponent_bits) - 1, bias = most / 2;
    bool negative = (bits >> (fraction_bits + exponent_bits) & 1) != 0;
    double value;
    if (exponent == most)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp((double)fraction, 1 - bias - (int)fraction_bits);
    else
        value = ldexp((double)(fraction | UINT64_C(1) << fraction_bits), exponent - bias - (int)fraction_bits);
    return negative ? -value : value;
}

/* 128 bits: the 64 highest of its fraction are more than a double has. */
static double quadruple(const uint8_t *bytes)
{
    uint64_t low = payload_load(bytes, 8), high = payload_load(bytes + 8, 8);
    int exponent = (int)(high >> 48 & 0x7fff);
    uint64_t fraction = high << 16 | low >> 48;
    double value = exponent == 0x7fff ? (fraction ? NAN : INFINITY)
                   : exponent == 0    ? ldexp((double)fraction, -16382 - 64)
                                      : ldexp(1.0 + ldexp((double)fraction, -64), exponent - 16383);
    return high >> 63 ? -value : value;
}

static double real_at(uint64_t type, const uint8_t *bytes)
{
    float single;
    double value;
    long double extended;
    switch (type) {
    case PAYLOAD_TYPE_FLOAT16: return real_of(payload_load(bytes, 2), 5, 10);
    case PAYLOAD_TYPE_BF16: return real_of(payload_load(bytes, 2), 8, 7);
    case PAYLOAD_TYPE_FLOAT128: return quadruple(bytes);
    case PAYLOAD_TYPE_LONGDOUBLE: memcpy(&extended, bytes, sizeof(extended)); return (double)extended;
    case PAYLOAD_TYPE_DOUBLE:
    case PAYLOAD_TYPE_FLOAT64: memcpy(&value, bytes, sizeof(value)); return value;
    default: memcpy(&single, bytes, sizeof(single)); return (double)single; /* TF32 is a float with less in it */
    }
}

static int64_t extend(uint64_t bits, unsigned bytes)
{
    unsigned unused = 64 - 8 * bytes;
    return (int64_t)(bits << unused) >> unused;
}

bool payload_number(struct payload_number *number, uint64_t type, const uint8_t *bytes)
{
    unsigned size = payload_bytes_of(type);
    switch (payload_value_of(type)) {
    case PAYLOAD_CHARACTER: /* `char` counts, too */
    case PAYLOAD_SIGNED:
        if (size > 8)
            return false;
        number->kind = PAYLOAD_NUMBER_SIGNED;
        number->i64 = extend(payload_load(bytes, size), size);
        return true;
    case PAYLOAD_BYTES:
    case PAYLOAD_UNSIGNED:
        if (size > 8)
            return false;
        number->kind = PAYLOAD_NUMBER_UNSIGNED;
        number->u64 = payload_load(bytes, size);
        return true;
    case PAYLOAD_REAL:
        number->kind = PAYLOAD_NUMBER_REAL;
        number->real = real_at(type, bytes);
        return true;
    default: return false;
    }
}

double payload_number_real(const struct payload_number *number)
{
    switch (number->kind) {
    case PAYLOAD_NUMBER_SIGNED: return (double)number->i64;
    case PAYLOAD_NUMBER_UNSIGNED: return (double)number->u64;
    default: return number->real;
    }
}

void payload_put_number(struct json_out *json, const struct payload_number *number)
{
    if (number->kind == PAYLOAD_NUMBER_SIGNED)
        json_i64(json, number->i64);
    else if (number->kind == PAYLOAD_NUMBER_UNSIGNED)
        json_u64(json, number->u64);
    else if (isfinite(number->real))
        json_double(json, number->real, -1);
    else
        json_string(json, isnan(number->real) ? "NaN" : number->real > 0 ? "Infinity" : "-Infinity");
}

void payload_put_characters(struct json_out *json, uint64_t type, const uint8_t *bytes, uint64_t count)
{
    uint64_t width = payload_bytes_of(type);
    uint64_t length = payload_text_length(bytes, count * width, width);
    if (width == 1) {
        json_string_n(json, (const char *)bytes, (size_t)length);
        return;
    }
    size_t room = (size_t)length * 4 + 1;
    char *text = malloc(room);
    size_t used = text ? utf8_from_units(text, room, bytes, (size_t)length, (size_t)width) : 0;
    json_string_n(json, text ? text : "", used);
    free(text);
}

void payload_put_bytes(struct json_out *json, const uint8_t *bytes, uint64_t count)
{
    static const char digits[] = "0123456789abcdef";
    static const char more[] = "…";
    char text[2 * BYTES_SHOWN + sizeof(more)], *at = text;
    for (uint64_t i = 0; i < count && i < BYTES_SHOWN; i++) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    if (count > BYTES_SHOWN) {
        memcpy(at, more, sizeof(more) - 1);
        at += sizeof(more) - 1;
    }
    json_string_n(json, text, (size_t)(at - text));
}

void payload_put_hex(struct json_out *json, uint64_t value)
{
    char text[NUMBER_ROOM];
    json_string_n(json, text, (size_t)(number_hex(text, value) - text));
}

void payload_put_wide(struct json_out *json, const uint8_t *bytes, bool is_signed)
{
    unsigned __int128 value = (unsigned __int128)payload_load(bytes + 8, 8) << 64 | payload_load(bytes, 8);
    bool negative = is_signed && (bytes[15] & 0x80) != 0;
    char digits[48], *at = digits + sizeof(digits);
    if (negative)
        value = -value;
    do
        *--at = (char)('0' + (int)(value % 10));
    while ((value /= 10) != 0);
    if (negative)
        *--at = '-';
    json_string_n(json, at, (size_t)(digits + sizeof(digits) - at));
}
