/* Stages of pipelines and slow links, of operations that are added one by one. */
#include "tests/unit.h"

#include "analysis/ranks/slow_links.h"
#include "analysis/ranks/stages.h"

#define MOST 16

static struct ranks ranks;
static int64_t now, ahead[MOST]; /* ahead: of the clock of each rank */

/* COUNT ranks, PER_HOST of them on a host, of one step each. */
static void begin(uint32_t count, uint32_t per_host)
{
    ranks_release(&ranks);
    memset(&ranks, 0, sizeof(ranks));
    now = 1000;
    memset(ahead, 0, sizeof(ahead));
    for (uint32_t i = 0; i < count; i++) {
        struct rank *rank = array_push(&ranks.items);
        assert_non_null(rank);
        char host[16];
        snprintf(host, sizeof(host), "node%u", i / per_host);
        *rank = (struct rank){.rank = i, .steps = 1, .host = intern(&ranks.texts, host, strlen(host))};
    }
}

/* An operation of SIZE ranks that all enter at once, and that takes DURATION. */
static void operate(enum collective_kind kind, const uint32_t *index, uint32_t size, int64_t duration,
                    int64_t group_call)
{
    struct collective one[MOST];
    bool pair = kind == COLLECTIVE_SEND;
    for (uint32_t i = 0; i < size; i++)
        one[i] = (struct collective){.communicator = index[0] * 100 + index[size - 1],
                                     .group_ranks = EVENT_NO_TEXT,
                                     .source = pair ? (int32_t)index[0] : -1,
                                     .target = pair ? (int32_t)index[1] : -1,
                                     .kind = (uint8_t)(pair && i == 1 ? COLLECTIVE_RECV : kind),
                                     .group_size = size,
                                     .bytes = 1 << 20,
                                     .called = FIELD_ABSENT,
                                     .returned = FIELD_ABSENT,
                                     .start = now + ahead[index[i]],
                                     .duration = duration,
                                     .exposed = FIELD_ABSENT,
                                     .group_call = group_call};
    now += duration;
    assert_int_equal(ranks_add_operation(&ranks, one, index, size), 0);
}

static void send(uint32_t from, uint32_t to, int64_t duration)
{
    operate(COLLECTIVE_SEND, (const uint32_t[]){from, to}, 2, duration, FIELD_ABSENT);
}

static size_t count_stages(void)
{
    struct stages stages = {0};
    assert_int_equal(stages_find(&stages, &ranks), 0);
    size_t count = stages.items.count;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(stages.items.items[i].number, i);
    stages_release(&stages);
    return count;
}

UNIT_TEST(chains_are_pipelines_with_their_stages_in_order)
{
    struct stages stages = {0};
    begin(6, 6);
    for (uint32_t i = 0; i < 2; i++) { /* ranks 4, 2, 0 and 5, 3, 1 */
        send(4 + i, 2 + i, 10);
        send(2 + i, i, 10);
        send(i, 2 + i, 10);
        send(2 + i, 4 + i, 10);
    }
    assert_int_equal(stages_find(&stages, &ranks), 0);
    assert_int_equal(stages.items.count, 3);
    assert_string_equal(stages.items.items[0].list, "4, 5");
    assert_string_equal(stages.items.items[2].list, "0, 1");
    assert_int_equal(stages.of_rank[3], 1);
    stages_release(&stages);
}

UNIT_TEST(rings_exchanges_stars_and_chains_of_several_lengths_are_no_pipelines)
{
    begin(4, 4);
    for (uint32_t i = 0; i < 4; i++)
        send(i, (i + 1) % 4, 10);
    assert_int_equal(count_stages(), 0);
    begin(2, 2); /* one kernel sends and receives */
    operate(COLLECTIVE_SEND, (const uint32_t[]){0, 1}, 2, 10, 7);
    operate(COLLECTIVE_SEND, (const uint32_t[]){1, 0}, 2, 10, 7);
    assert_int_equal(count_stages(), 0);
    begin(4, 4);
    for (uint32_t i = 1; i < 4; i++)
        send(0, i, 10);
    assert_int_equal(count_stages(), 0);
    begin(5, 5);
    send(0, 1, 10);
    send(2, 3, 10);
    assert_int_equal(count_stages(), 2);
    send(3, 4, 10);
    assert_int_equal(count_stages(), 0);
}

UNIT_TEST(a_rank_without_steps_is_in_no_pipeline)
{
    begin(3, 3);
    send(0, 1, 10);
    send(1, 2, 10);
    assert_int_equal(count_stages(), 3);
    ranks.items.items[2].steps = 0;
    assert_int_equal(count_stages(), 0);
}

/* Operations of pairs of ranks of 4 hosts, which take SLOW with rank ONE, or only with OTHER if there is one. */
static void pairs(uint32_t count, uint32_t one, uint32_t other, int64_t slow)
{
    for (unsigned times = 0; times < 5; times++)
        for (uint32_t a = 0; a < count; a++)
            for (uint32_t b = a + 1; b < count; b++)
                send(a, b, (a == one || b == one) && (other == UINT32_MAX || a == other || b == other) ? slow : 1000);
}

static size_t count_links(struct slow_links *links)
{
    array_release(&links->items);
    assert_int_equal(slow_links_find(links, &ranks, 1.5, 5), 0);
    return links->items.count;
}

UNIT_TEST(a_link_is_slow_if_all_operations_with_it_are)
{
    struct slow_links links = {0};
    begin(4, 1);
    pairs(4, 2, UINT32_MAX, 3000);
    assert_int_equal(count_links(&links), 1);
    assert_int_equal(links.items.items[0].rank, 2);
    assert_int_equal(links.items.items[0].count, 15);
    assert_int_equal(links.items.items[0].other_count, 15);
    assert_int_equal(links.items.items[0].cost, 3 * 5 * 2000);
    begin(4, 1);
    pairs(4, 2, UINT32_MAX, 1400); /* not slow enough */
    assert_int_equal(count_links(&links), 0);
    array_release(&links.items);
}

UNIT_TEST(clocks_that_differ_make_no_link_slow)
{
    struct slow_links links = {0};
    begin(4, 1);
    ahead[2] = 700;
    pairs(4, UINT32_MAX, UINT32_MAX, 1000);
    assert_int_equal(count_links(&links), 0);
    begin(4, 1);
    ahead[0] = -700;
    pairs(4, 2, UINT32_MAX, 3000);
    assert_int_equal(count_links(&links), 1);
    assert_int_equal(links.items.items[0].rank, 2);
    array_release(&links.items);
}

UNIT_TEST(no_link_is_named_where_it_cannot_be_known)
{
    struct slow_links links = {0};
    begin(4, 1);
    pairs(4, 2, 1, 3000); /* only between two ranks whose other operations are as all are */
    assert_int_equal(count_links(&links), 0);
    begin(4, 1);
    pairs(2, 0, UINT32_MAX, 1000);
    for (unsigned times = 0; times < 5; times++)
        send(2, 3, 3000); /* both are in no other operation */
    assert_int_equal(count_links(&links), 0);
    begin(4, 4);
    const uint32_t all[] = {0, 1, 2, 3};
    for (unsigned times = 0; times < 10; times++)
        operate(COLLECTIVE_ALLREDUCE, all, 4, times < 5 ? 1000 : 3000, FIELD_ABSENT);
    assert_int_equal(count_links(&links), 0);
    array_release(&links.items);
}

UNIT_TEST(a_few_operations_that_take_long_do_not_make_a_link_slow)
{
    struct slow_links links = {0};
    begin(4, 1);
    pairs(4, 2, UINT32_MAX, 1000);
    pairs(4, 2, UINT32_MAX, 1000);
    pairs(4, 2, UINT32_MAX, 1000);
    pairs(4, 2, UINT32_MAX, 1000);
    send(0, 2, 500000);
    send(1, 2, 500000);
    send(2, 3, 500000);
    assert_int_equal(count_links(&links), 0);
    array_release(&links.items);
    ranks_release(&ranks);
}

UNIT_MAIN(NULL, NULL)
