/* The tables of categories and arguments as arrays, and how the words of a foreign trace are found in them. */
#include "trace/event.h"

const struct word category_words[CATEGORY_COUNT] = {[CATEGORY_OTHER] = {"", 0},
#define CATEGORY(name, text) [CATEGORY_##name] = {text, sizeof(text) - 1},
                                                    CATEGORIES(CATEGORY)
#undef CATEGORY
};

const struct word arg_words[ARG_KEY_COUNT] = {[ARG_OTHER] = {"", 0},
#define KEY(name, text) [ARG_##name] = {text, sizeof(text) - 1},
#define FIELD(name, text, ...) KEY(name, text)
                                              ARG_KEYS(KEY, FIELD)
#undef KEY
#undef FIELD
};

/* Other words for our categories: those of PyTorch 1.8 to 1.10, and of Kineto's plugins for other accelerators. */
#define WORD(text) {text, sizeof(text) - 1}
static const struct {
    struct word word;
    enum category category;
} foreign[] = {
    {WORD("Kernel"), CATEGORY_KERNEL},
    {WORD("Memcpy"), CATEGORY_GPU_MEMCPY},
    {WORD("Memset"), CATEGORY_GPU_MEMSET},
    {WORD("Runtime"), CATEGORY_CUDA_RUNTIME},
    {WORD("Operator"), CATEGORY_CPU_OP},
    {WORD("concurrent_kernel"), CATEGORY_KERNEL},
    {WORD("mtia_ccp_events"), CATEGORY_KERNEL},
    {WORD("xpu_runtime"), CATEGORY_CUDA_RUNTIME},
    {WORD("mtia_runtime"), CATEGORY_CUDA_RUNTIME},
    {WORD("privateuse1_runtime"), CATEGORY_CUDA_RUNTIME},
    {WORD("glow_runtime"), CATEGORY_CUDA_RUNTIME},
    {WORD("hpu_op"), CATEGORY_CUDA_RUNTIME},
    {WORD("xpu_driver"), CATEGORY_CUDA_DRIVER},
    {WORD("privateuse1_driver"), CATEGORY_CUDA_DRIVER},
    {WORD("xpu_sync"), CATEGORY_CUDA_SYNC},
};

/* --- the words, which are found by their bytes --- */

#define WORD_SET_SLOTS 256 /* far more than words, so that the first look finds them */

struct word_set {
    struct {
        const char *text; /* NULL: free */
        uint8_t length, number;
    } slots[WORD_SET_SLOTS];
};

static size_t word_set_slot(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned hash =
        length ? (unsigned)length * 37u + bytes[0] * 5u + bytes[length / 2] * 11u + bytes[length - 1] * 3u : 0;
    return (hash ^ hash >> 5) % WORD_SET_SLOTS;
}

/* WORD, of less than 256 bytes, is number NUMBER, from 1 to 255; there are far fewer than slots. */
static void word_set_add(struct word_set *set, const struct word *word, size_t number)
{
    size_t slot = word_set_slot(word->text, word->length);
    while (set->slots[slot].text)
        slot = (slot + 1) % WORD_SET_SLOTS;
    set->slots[slot].text = word->text;
    set->slots[slot].length = (uint8_t)word->length;
    set->slots[slot].number = (uint8_t)number;
}

/* The number of this word; 0: it is not in the set. */
static unsigned word_set_find(const struct word_set *set, const char *text, size_t length)
{
    for (size_t slot = word_set_slot(text, length); set->slots[slot].text; slot = (slot + 1) % WORD_SET_SLOTS)
        if (set->slots[slot].length == length && memcmp(set->slots[slot].text, text, length) == 0)
            return set->slots[slot].number;
    return 0;
}

static struct word_set categories, keys;

__attribute__((constructor)) static void add_words(void)
{
    for (size_t i = ARG_OTHER + 1; i < ARG_KEY_COUNT; i++)
        word_set_add(&keys, &arg_words[i], i);
    for (size_t i = CATEGORY_OTHER + 1; i < CATEGORY_COUNT; i++)
        word_set_add(&categories, &category_words[i], i);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
        word_set_add(&categories, &foreign[i].word, foreign[i].category);
}

enum category category_find(const char *text, size_t length)
{
    return (enum category)word_set_find(&categories, text, length);
}

enum arg_key arg_key_find(const char *text, size_t length)
{
    return (enum arg_key)word_set_find(&keys, text, length);
}

static bool begins(const char *text, size_t length, const char *word)
{
    return length >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

enum category category_by_name(enum category category, char phase, const char *name, size_t length)
{
    if (category == CATEGORY_CPU_OP && (begins(name, length, "ProfilerStep#") || begins(name, length, "Optimizer.") ||
                                        begins(name, length, "enumerate(DataLoader)#")))
        return CATEGORY_USER_ANNOTATION;
    if (category == CATEGORY_OTHER && (phase == 'i' || phase == 'I') && begins(name, length, "[memory]"))
        return CATEGORY_CPU_INSTANT_EVENT;
    return category;
}
