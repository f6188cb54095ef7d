#include "tool/cli/suggest.h"

#include <string.h>

#define LONGEST 64

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Insertions, removals and replacements that lead from A to B, by rows of the usual matrix. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_length];
}

struct suggestion suggestion_for(const char *given, size_t length)
{
    return (struct suggestion){.given = given, .length = length, .distance = length / 3 + 2};
}

void suggestion_consider(struct suggestion *suggestion, const char *word)
{
    size_t length = strlen(word);
    if (length > LONGEST || suggestion->length > LONGEST)
        return;
    size_t distance = edit_distance(suggestion->given, suggestion->length, word, length);
    if (distance < suggestion->distance && distance < length) {
        suggestion->word = word;
        suggestion->distance = distance;
    }
}
