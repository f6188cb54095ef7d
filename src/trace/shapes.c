/* Shapes of inputs, read of JSON. */
#include "trace/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/json/text.h"

#define DEPTH_MAX 8
#define DIGITS_MAX 15 /* a double holds any integer of so many */

static inline void put(struct shapes *shapes, char c)
{
    if (shapes->length < SHAPES_MOST)
        shapes->text[shapes->length++] = c;
    else
        shapes->cut = true;
}

/* A text that was cut does not end with a part of a number. */
static void finish(struct shapes *shapes)
{
    if (!shapes->cut)
        return;
    while (shapes->length > 0 && !strchr("[],", shapes->text[shapes->length - 1]))
        shapes->length--;
    memcpy(shapes->text + shapes->length, SHAPES_CUT, strlen(SHAPES_CUT));
    shapes->length += strlen(SHAPES_CUT);
}

struct place {
    const char *text;
    size_t length, at;
};

static inline char byte_at(const struct place *place)
{
    return place->at < place->length ? place->text[place->at] : '\0';
}

static inline char pass_blank(struct place *place)
{
    char c;
    while ((c = byte_at(place)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        place->at++;
    return c;
}

/* A number as a double has it. */
static bool read_real(struct place *place, struct shapes *shapes)
{
    unsigned surrogates = 0;
    char number[64], digits[32];
    const char *start = place->text + place->at;
    const char *end = json_pass(start, place->text + place->length, &surrogates);
    size_t length = end ? (size_t)(end - start) : sizeof(number);
    if (length >= sizeof(number) || (*start != '-' && (*start < '0' || *start > '9')))
        return false;
    memcpy(number, start, length);
    number[length] = '\0';
    snprintf(digits, sizeof(digits), "%.15g", strtod(number, NULL));
    for (const char *digit = digits; *digit; digit++)
        put(shapes, *digit);
    place->at += length;
    return true;
}

static inline bool read_number(struct place *place, struct shapes *shapes)
{
    size_t first = place->at, from = first + (byte_at(place) == '-'), end = from;
    while (end < place->length && place->text[end] >= '0' && place->text[end] <= '9')
        end++;
    char after = end < place->length ? place->text[end] : '\0';
    bool leading_zero = end - from > 1 && place->text[from] == '0';
    if (end == from || end - from > DIGITS_MAX || leading_zero || after == '.' || (after | 0x20) == 'e')
        return read_real(place, shapes);
    while (place->at < end)
        put(shapes, place->text[place->at++]);
    return true;
}

static bool read_array(struct place *place, struct shapes *shapes, int depth)
{
    if (depth == DEPTH_MAX || byte_at(place) != '[')
        return false;
    char c = '[';
    do {
        put(shapes, c);
        place->at++;
        char next = pass_blank(place);
        if (!(c == '[' && next == ']') &&
            !(next == '[' ? read_array(place, shapes, depth + 1) : read_number(place, shapes)))
            return false;
        c = pass_blank(place);
    } while (c == ',');
    if (c != ']')
        return false;
    put(shapes, c);
    place->at++;
    return true;
}

size_t shapes_read(const char *text, size_t length, struct shapes *shapes)
{
    struct place place = {text, length, 0};
    shapes->length = 0;
    shapes->cut = false;
    if (!read_array(&place, shapes, 0))
        return 0;
    finish(shapes);
    return place.at;
}
