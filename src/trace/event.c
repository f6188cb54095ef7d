/* The names of categories and arguments, and the look-up of words from traces of gputrace and of other profilers. */
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

/* Other profilers' names for our categories: PyTorch 1.8 to 1.10, and Kineto's plugins for other accelerators. */
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
