/* Finds the section of a word of -r, with words of earlier versions, and lists all words where one is unknown. */
#include "cli/section_words.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/text.h"
#include "analysis/engine/section.h"

enum { WORD_ALL = REPORT_SECTION_COUNT, WORD_LIST };

const struct option_choice section_words[] = {
#define WORD(constant, name, word, ...) {word, REPORT_##constant},
#define NOTHING(...)
    REPORT_SECTIONS(WORD, NOTHING)
#undef WORD
#undef NOTHING
        {"all", WORD_ALL},
    {"list", WORD_LIST},
    {NULL, 0},
};

/* The bit of the section that was a word of -r before it became a part of another one; 0: there is none. */
static uint64_t take_old(const char *word, size_t length)
{
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        const struct section_entry *entry = &section_list[i];
        if (entry->part_of == i || strlen(entry->word) != length || memcmp(entry->word, word, length) != 0)
            continue;
        notice("section '%s' is now part of '%s'", entry->word, section_list[entry->part_of].word);
        return REPORT_BIT(i);
    }
    return 0;
}

static uint64_t with_parts(unsigned section)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
        bits |= section_list[i].part_of == section ? REPORT_BIT(i) : 0;
    return bits;
}

static bool is_compared(const struct option_choice *word)
{
    return word->value >= WORD_ALL || section_list[word->value].section->comparable.noun;
}

void section_words_compared(char *text, size_t size)
{
    *text = '\0';
    for (const struct option_choice *word = section_words; word->word; word++)
        if (is_compared(word))
            text_list_add(text, size, word->word);
}

int section_words_list(bool compared, enum report_format format)
{
    const char *gap = "[";
    if (format != REPORT_TABLE && format != REPORT_JSON)
        return error("'-r list' prints a table or JSON: use --format=json, or no --format");
    for (const struct option_choice *word = section_words; word->value < WORD_ALL; word++) {
        const char *question = section_list[word->value].question;
        if (compared && !is_compared(word))
            continue;
        if (format == REPORT_TABLE)
            printf("%-15s %s\n", word->word, question);
        else
            printf("%s\n  {\"section\": \"%s\", \"question\": \"%s\"}", gap, word->word, question);
        gap = ",";
    }
    printf("%s", format == REPORT_JSON ? "\n]\n" : "");
    return 0;
}

int section_words_take(const char *value, bool compared, uint64_t *sections, enum section_choice *choice)
{
    struct option_choice words[sizeof(section_words) / sizeof(*section_words)] = {0};
    size_t count = 0;
    for (const struct option_choice *word = section_words; word->word; word++)
        if (!compared || is_compared(word))
            words[count++] = *word;
    *sections = 0;
    *choice = SECTIONS_NAMED;
    for (const char *first = value;; value++) {
        size_t length = strcspn(value, ",");
        uint64_t old = compared ? 0 : take_old(value, length);
        const struct option_choice *word = old ? NULL : options_choose(words, "report", value, length);
        if (!word && !old)
            return OPTIONS_ERROR;
        bool list = word && word->value == WORD_LIST;
        if (list && (value > first || value[length] != '\0'))
            return error("--report: 'list' prints the sections, and stands alone: use -r list");
        if (word && word->value >= WORD_ALL)
            *choice = list ? SECTIONS_LISTED : SECTIONS_ALL;
        *sections |= old ? old : with_parts((unsigned)word->value);
        value += length;
        if (*value != '\0')
            continue;
        *sections = *choice == SECTIONS_NAMED ? *sections : 0;
        return 0;
    }
}
