/* Formats values with three digits and a unit, and shortens texts so that different texts stay different. */
#include "analysis/base/value_text.h"
#include "common/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scale {
    const char *unit;
    double size;
};

static const struct scale times[] = {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
static const struct scale sizes[] = {{"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                                     {"TiB", 0x1p40}, {"PiB", 0x1p50}, {"EiB", 0x1p60}};
static const struct scale rates[] = {{"B/s", 1e-9}, {"kB/s", 1e-6}, {"MB/s", 1e-3}, {"GB/s", 1}};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Inserts commas between thousands into NUMBER, which may have a sign and decimals. */
static void separate(char number[VALUE_NUMBER_BYTES])
{
    char plain[VALUE_NUMBER_BYTES];
    snprintf(plain, sizeof(plain), "%s", number);
    size_t sign = plain[0] == '-', whole = strcspn(plain, "."), length = 0;
    for (size_t i = 0; plain[i] && length + 2 < VALUE_NUMBER_BYTES; i++) {
        if (i > sign && i < whole && (whole - i) % 3 == 0)
            number[length++] = ',';
        number[length++] = plain[i];
    }
    number[length] = '\0';
}

/* Writes VALUE in the unit of SCALE with three digits. In the SMALLEST unit, only values that are not integers have a
 * decimal. Returns the rounded value in that unit. */
static double write_scaled(char number[VALUE_NUMBER_BYTES], double value, const struct scale *scale, bool smallest)
{
    double scaled = value / scale->size, size = fabs(scaled);
    int decimals = smallest ? size != floor(size) && size < 9.95 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    double factor = pow(10, decimals);
    snprintf(number, VALUE_NUMBER_BYTES, "%.*f", decimals, scaled);
    return round(size * factor) / factor;
}

/* Writes VALUE in the largest unit that is not greater than VALUE. */
static struct value_text scaled_text(double value, const struct scale *scales, size_t count, bool ascii)
{
    struct value_text text;
    size_t i = count - 1;
    while (i > 0 && fabs(value) < scales[i].size)
        i--;
    double written = write_scaled(text.number, value, &scales[i], i == 0);
    if (i + 1 < count && written * scales[i].size >= scales[i + 1].size)
        write_scaled(text.number, value, &scales[++i], false); /* 999.7 µs are written as 1.00 ms */
    separate(text.number);
    text.unit = ascii && strcmp(scales[i].unit, "µs") == 0 ? "us" : scales[i].unit;
    return text;
}

struct value_text value_text_of(const struct cell *cell, enum column_type type, unsigned flags, bool ascii)
{
    struct value_text text = {.unit = ""};
    double value = cell_value(cell);
    switch (type) {
    case TYPE_NS:
        if (!(flags & COLUMN_MOMENT) || fabs(value) < 1e6)
            return scaled_text(value, times, COUNT(times), ascii);
        /* A point in time is written down to a microsecond. */
        snprintf(text.number, sizeof(text.number), "%.*f", fabs(value) < 1e9 ? 3 : 6,
                 value / (fabs(value) < 1e9 ? 1e6 : 1e9));
        separate(text.number);
        text.unit = fabs(value) < 1e9 ? "ms" : "s";
        return text;
    case TYPE_BYTES: return scaled_text(value, sizes, COUNT(sizes), ascii);
    case TYPE_RATE: return scaled_text(value, rates, COUNT(rates), ascii);
    case TYPE_PERCENT: snprintf(text.number, sizeof(text.number), "%.1f", value); return text;
    case TYPE_NUMBER: snprintf(text.number, sizeof(text.number), "%.0f", value); break;
    default: break;
    }
    if (cell->kind == CELL_INTEGER)
        snprintf(text.number, sizeof(text.number), "%lld", (long long)cell->integer);
    else if (type != TYPE_NUMBER)
        snprintf(text.number, sizeof(text.number), "%.1f", value);
    if (cell->kind == CELL_INTEGER && type != TYPE_NUMBER)
        separate(text.number);
    return text;
}

/* --- shortened texts: the middle of each text is cut out. If different texts then look alike, they are cut in another
 * way, and finally around the first character in which they differ --- */

/* The characters of a text that are kept: the first `head`, `middle` from `from` on, and the last `tail`. */
struct cut {
    size_t head, from, middle, tail;
};

/* Returns the number of bytes of the first COUNT characters. */
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

/* The ways in which a text may be cut, in the order in which they are tried. CUT_AROUND keeps the text around PLACE,
 * where texts begin to differ. */
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

/* Sorts GROUP by the shortened texts. Returns whether two different texts have equal shortened texts. */
static bool are_alike(struct shorten_text **group, size_t count)
{
    qsort(group, count, sizeof(*group), by_shortened);
    for (size_t i = 1; i < count; i++)
        if (strcmp(group[i - 1]->shortened, group[i]->shortened) == 0 && !is_same(group[i - 1], group[i]))
            return true;
    return false;
}

/* Texts with a common beginning. They are cut in one way, so that readers can compare them. */
struct family {
    struct shorten_text **texts; /* in any order */
    size_t count, width;
    const char *mark;
    size_t mark_width;
};

/* Moves all texts that are equal to the first text of GROUP to the beginning of GROUP. Returns their number. */
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

/* Cuts the texts of GROUP, which look alike, in other ways until all texts of the family differ; the last way cuts
 * around the place where the texts of GROUP begin to differ. If some still look alike, all but the first of them are
 * cut again, up to ROUNDS times. */
static int distinguish(const struct family *family, struct shorten_text **group, size_t count, unsigned rounds)
{
    /* Count the characters that all texts begin with. */
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
    are_alike(group, count); /* sorts GROUP */
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
#define COMPARED_MOST 2000 /* texts of larger families may look alike */

/* Groups TEXTS into families by their first characters, and cuts the families in which different texts look alike
 * again. */
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
