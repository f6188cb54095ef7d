/* Parses lists of ranks. A list is walked anew for each question, because it is short. */
#include "common/rank_list.h"

#include <string.h>

/* Reads the digits at *AT and moves it behind them. -1: there are none, or more than a rank has. */
static int64_t read_number(const char **at)
{
    int64_t number = 0;
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 9)
        return -1;
    for (size_t i = 0; i < digits; i++)
        number = 10 * number + (*at)[i] - '0';
    *at += digits;
    return number;
}

/* One item: the ranks from FIRST to LAST, each STEP-th of them. */
struct item {
    int64_t first, last, step;
};

/* Reads the item at *AT and moves it behind the comma that follows, if one does. */
static bool read_item(const char **at, struct item *item)
{
    static const char every[] = "every:";
    *item = (struct item){.last = INT64_MAX, .step = 1};
    if (strncmp(*at, every, sizeof(every) - 1) == 0) {
        *at += sizeof(every) - 1;
        item->step = read_number(at);
    } else {
        item->first = item->last = read_number(at);
        if (item->first >= 0 && **at == '-') {
            ++*at;
            item->last = read_number(at);
        }
    }
    if (item->first < 0 || item->last < item->first || item->step < 1 || (**at != ',' && **at != '\0'))
        return false;
    bool more = **at == ',';
    *at += more;
    return !more || **at != '\0';
}

bool rank_list_is_valid(const char *list)
{
    struct item item;
    bool valid = *list != '\0';
    while (valid && *list)
        valid = read_item(&list, &item);
    return valid;
}

bool rank_list_has(const char *list, int64_t rank)
{
    struct item item;
    bool found = false;
    if (rank < 0 || !rank_list_is_valid(list))
        return false;
    while (!found && *list && read_item(&list, &item))
        found = rank >= item.first && rank <= item.last && (rank - item.first) % item.step == 0;
    return found;
}
