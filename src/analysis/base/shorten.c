/*
 * Cuts the middle of each text. Where different texts then look alike, they are cut in another way, at last around the
 * first character in which they differ.
 */
#include "analysis/base/shorten.h"

#include "common/array.h"

#include <stdlib.h>
#include <string.h>

/* What is kept of a text: its first characters, those from a place on, and its last ones. */
struct cut {
    size_t head, from, middle, tail;
};

/* Bytes of the first COUNT characters. */
static size_t shorten_bytes(const char *text, size_t length, size_t count)
{
    size_t at = 0;
    while (at < length) {
        if (((unsigned char)text[at] & 0xc0) != 0x80 && count-- == 0)
            break;
        at++;
    }
    return at;
}

static char *append(char *out, const struct shorten_text *text, size_t first, size_t count)
{
    size_t start = shorten_bytes(text->text, text->length, first);
    size_t bytes = shorten_bytes(text->text + start, text->length - start, count);
    memcpy(out, text->text + start, bytes);
    return out + bytes;
}

static int cut_text(struct shorten_text *text, const struct cut *cut, const char *mark)
{
    char *out = text->shortened ? text->shortened : malloc(text->length + 2 * strlen(mark) + 1);
    if (!out)
        return -1;
    text->shortened = out;
    out = append(out, text, 0, cut->head);
    if (cut->middle > 0) {
        out = stpcpy(out, cut->from > cut->head ? mark : "");
        out = append(out, text, cut->from, cut->middle);
    }
    bool gap = cut->head + cut->middle + cut->tail < text->width;
    out = stpcpy(out, gap && (cut->middle == 0 || cut->from + cut->middle < text->width - cut->tail) ? mark : "");
    out = append(out, text, text->width - cut->tail, cut->tail);
    *out = '\0';
    return 0;
}

/* The ways in which a text may be cut, the usual one first. PLACE: where texts begin to differ. */
enum { CUT_MIDDLE, CUT_TAIL, CUT_END, CUT_AROUND, CUT_WAYS };

static struct cut cut_of(int way, const struct shorten_text *text, size_t width, size_t mark, size_t place)
{
    struct cut cut = {0};
    switch (way) {
    case CUT_TAIL: cut.tail = (width - mark) * 2 / 3; break;
    case CUT_END: return (struct cut){.head = width - mark};
    case CUT_AROUND:
        cut.head = (width - 2 * mark) / 4;
        cut.middle = width - 2 * mark - cut.head;
        cut.from = place > cut.head + 4 ? place - 4 : cut.head;
        if (cut.from + cut.middle > text->width)
            cut.from = text->width - cut.middle;
        return cut;
    default: cut.tail = width - mark - (width - mark) * 2 / 3; break;
    }
    cut.head = width - mark - cut.tail;
    return cut;
}

static int by_shortened(const void *left, const void *right)
{
    const struct shorten_text *a = *(struct shorten_text *const *)left, *b = *(struct shorten_text *const *)right;
    int order = strcmp(a->shortened, b->shortened);
    return order ?: ORDER(a, b);
}

static bool is_same(const struct shorten_text *a, const struct shorten_text *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* Whether any two of COUNT texts differ, but have the same shortened text. */
static bool are_alike(struct shorten_text **group, size_t count)
{
    qsort(group, count, sizeof(*group), by_shortened);
    for (size_t i = 1; i < count; i++)
        if (strcmp(group[i - 1]->shortened, group[i]->shortened) == 0 && !is_same(group[i - 1], group[i]))
            return true;
    return false;
}

/* Texts that begin alike are cut in the same way, so that what is shown of them can be compared. */
struct family {
    struct shorten_text **texts; /* in any order */
    size_t count, width;
    const char *mark;
    size_t mark_width;
};

/* Moves the texts that are equal to the first of GROUP to its beginning. Returns their number. */
static size_t same_first(struct shorten_text **group, size_t count)
{
    size_t same = 1;
    for (size_t i = 1; i < count; i++) {
        if (!is_same(group[0], group[i]))
            continue;
        struct shorten_text *moved = group[same];
        group[same++] = group[i];
        group[i] = moved;
    }
    return same;
}

/* Cuts a group of texts that look alike in another way: the first in which all texts of the family differ, at last
 * around the place where they begin to differ. Of those that still look alike, all but the first text are cut again. */
static int distinguish(const struct family *family, struct shorten_text **group, size_t count, unsigned rounds)
{
    /* The characters that all texts begin with. */
    size_t bytes = group[0]->length, place = 0;
    for (size_t i = 1; i < count; i++) {
        size_t same = 0;
        while (same < bytes && same < group[i]->length && group[0]->text[same] == group[i]->text[same])
            same++;
        bytes = same;
    }
    for (size_t i = 0; i < bytes; i++)
        place += ((unsigned char)group[0]->text[i] & 0xc0) != 0x80;
    for (int way = CUT_TAIL; way < CUT_WAYS; way++) {
        for (size_t i = 0; i < count; i++) {
            struct cut cut = cut_of(way, group[i], family->width, family->mark_width, place);
            if (cut_text(group[i], &cut, family->mark) < 0)
                return -1;
        }
        if (!are_alike(family->texts, family->count))
            return 0;
    }
    are_alike(group, count); /* sorts them */
    for (size_t first = 0, end, other; first < count && rounds > 0; first = end) {
        for (end = first + 1; end < count && strcmp(group[end]->shortened, group[first]->shortened) == 0;)
            end++;
        other = first + same_first(group + first, end - first);
        if (other < end && distinguish(family, group + other, end - other, rounds - 1) < 0)
            return -1;
    }
    return 0;
}

static int by_text(const void *left, const void *right)
{
    const struct shorten_text *a = *(struct shorten_text *const *)left, *b = *(struct shorten_text *const *)right;
    int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    return order ?: ORDER(a->length, b->length);
}

#define ROUNDS 4
#define COMPARED_MOST 2000 /* larger families are not compared */

/* Cuts families in which texts are alike again. */
static int distinguish_all(struct shorten_text **texts, size_t count, struct family *family)
{
    size_t start = family->width / 4;
    qsort(texts, count, sizeof(struct shorten_text *), by_text);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && memcmp(texts[end]->text, texts[first]->text, start) == 0;)
            end++;
        family->texts = texts + first;
        family->count = end - first;
        if (end - first == 1 || end - first > COMPARED_MOST || !are_alike(family->texts, family->count))
            continue;
        struct shorten_text **group = malloc(family->count * sizeof(struct shorten_text *));
        if (!group)
            return -1;
        memcpy(group, family->texts, family->count * sizeof(struct shorten_text *));
        int status = distinguish(family, group, family->count, ROUNDS);
        free(group);
        if (status < 0)
            return -1;
    }
    return 0;
}

int shorten_all(struct shorten_text *texts, size_t count, size_t width, bool ascii)
{
    struct family family = {.width = width, .mark = ascii ? "..." : "…", .mark_width = ascii ? 3 : 1};
    struct shorten_text **cut_ones = malloc((count + 1) * sizeof(struct shorten_text *));
    size_t cut_count = 0;
    int status = cut_ones ? 0 : -1;
    for (size_t i = 0; i < count && status == 0; i++) {
        if (texts[i].width <= width)
            continue;
        struct cut cut = cut_of(CUT_MIDDLE, &texts[i], width, family.mark_width, 0);
        status = cut_text(&texts[i], &cut, family.mark);
        cut_ones[cut_count++] = &texts[i];
    }
    status = status ?: distinguish_all(cut_ones, cut_count, &family);
    free(cut_ones);
    return status;
}
