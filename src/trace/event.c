#include "trace/event.h"

#include <string.h>

const char *const slice_categories[CATEGORY_COUNT] = {
#define CATEGORY(name, text) [CATEGORY_##name] = text,
    CATEGORIES(CATEGORY)
#undef CATEGORY
};

bool slice_category_find(const char *text, size_t length, enum category *category)
{
    for (*category = 0; *category < CATEGORY_COUNT; ++*category)
        if (strlen(slice_categories[*category]) == length && memcmp(slice_categories[*category], text, length) == 0)
            return true;
    *category = 0;
    return false;
}
