#include "analysis/findings/slow_link_words.h"

#include <stdio.h>

#include "analysis/findings/findings.h"

const char slow_link_advice[] =
    "Compare its network adapter, cable and switch port with the others (ethtool, ibstat; inside a host nvidia-smi "
    "nvlink -s and nvidia-smi topo -m), and look at which transport and adapter NCCL chose (NCCL_DEBUG=INFO).";

/* "14.7 GB/s" */
static void write_rate(char *text, size_t size, const struct slow_link *link, double time)
{
    double factor = collective_bus_factor((enum collective_kind)link->kind, link->group_size);
    double rate = (double)link->bytes * (factor > 0 ? factor : 1) / time;
    int decimals = rate >= 100 ? 0 : rate >= 10 ? 1 : 2;
    if (rate >= 0.1)
        snprintf(text, size, "%.*f GB/s", decimals, rate);
    else
        snprintf(text, size, "%.3g MB/s", rate * 1e3);
}

void slow_link_describe(char *text, size_t size, const struct ranks *ranks, const struct slow_link *link)
{
    char owner[200], own[32], other[32], of[40] = "";
    bool pair = link->kind == COLLECTIVE_SEND;
    /* "host node1 (ranks 2, 3)", "rank 3" */
    long long rank = (long long)ranks->items.items[link->rank].rank;
    if (link->host == EVENT_NO_TEXT)
        snprintf(owner, sizeof(owner), "rank %lld", rank);
    else
        snprintf(owner, sizeof(owner), "host %s (%s of its ranks, such as rank %lld)",
                 finding_name_of(interned(&ranks->texts, link->host)).text, amount_count(link->ranks).text, rank);
    write_rate(own, sizeof(own), link, link->time);
    write_rate(other, sizeof(other), link, link->other_time);
    if (!pair)
        snprintf(of, sizeof(of), " by %lld ranks", (long long)link->group_size);
    snprintf(text, size,
             "The link of %s is slow: once all have entered, %s of %s%s runs at %s with it and at %s without it, in %s "
             "and %s operations",
             owner, pair ? "send/recv" : collective_words[link->kind], amount_bytes(link->bytes).text, of, own, other,
             amount_count(link->count).text, amount_count(link->other_count).text);
}
