#include "trace/shapes.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

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

/* --- from text --- */

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

static inline bool read_integer(struct place *place, struct shapes *shapes)
{
    char c = byte_at(place);
    if (c == '-') {
        put(shapes, c);
        place->at++;
    }
    size_t first = place->at;
    for (; (c = byte_at(place)) >= '0' && c <= '9'; place->at++)
        put(shapes, c);
    size_t digits = place->at - first;
    return digits > 0 && digits <= DIGITS_MAX && (digits == 1 || place->text[first] != '0');
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
            !(next == '[' ? read_array(place, shapes, depth + 1) : read_integer(place, shapes)))
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

/* --- from a tree --- */

static bool put_number(const cJSON *value, struct shapes *shapes)
{
    char digits[32];
    if (!cJSON_IsNumber(value))
        return false;
    snprintf(digits, sizeof(digits), "%.15g", value->valuedouble);
    for (const char *digit = digits; *digit; digit++)
        put(shapes, *digit);
    return true;
}

static bool put_array(const cJSON *array, struct shapes *shapes, int depth)
{
    if (depth == DEPTH_MAX)
        return false;
    put(shapes, '[');
    for (const cJSON *value = array->child; value; value = value->next) {
        if (!(cJSON_IsArray(value) ? put_array(value, shapes, depth + 1) : put_number(value, shapes)))
            return false;
        if (value->next)
            put(shapes, ',');
    }
    put(shapes, ']');
    return true;
}

bool shapes_of_json(const cJSON *value, struct shapes *shapes)
{
    shapes->length = 0;
    shapes->cut = false;
    if (!cJSON_IsArray(value) || !put_array(value, shapes, 0))
        return false;
    finish(shapes);
    return true;
}
