#include "common/suggest.h"

#include <ctype.h>
#include <string.h>

#define LONGEST 64

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, removals, replacements and swaps of neighbours that lead from A to B, by rows of the usual matrix. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same(a[i - 1], b[j - 1]));
            bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
            if (swapped && second[j - 2] + 1 < row[j])
                row[j] = second[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

struct suggestion suggestion_for(const char *given, size_t length)
{
    return (struct suggestion){.given = given, .length = length, .distance = length / 3 + 2};
}

bool suggestion_consider(struct suggestion *suggestion, const char *word)
{
    size_t length = strlen(word);
    if (length > LONGEST || suggestion->length > LONGEST)
        return false;
    size_t distance = edit_distance(suggestion->given, suggestion->length, word, length);
    size_t longer = length > suggestion->length ? length : suggestion->length;
    if (distance >= suggestion->distance || distance >= length || 2 * distance >= longer)
        return false;
    suggestion->word = word;
    suggestion->distance = distance;
    return true;
}
