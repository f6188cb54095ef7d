#include "analysis/findings/imbalance.h"

#include <stdio.h>

#include "analysis/ranks/stages.h"

const char imbalance_advice[] =
    "Move layers from this stage to the others until all compute as long (the embedding and the loss count, too). More "
    "microbatches in a step make the rest of the waiting smaller.";

int imbalance_find(struct imbalance *imbalance, const struct ranks *ranks)
{
    struct stages stages = {0};
    int status = stages_find(&stages, ranks);
    *imbalance = (struct imbalance){.cost = 0};
    const struct stage *slowest = stages.items.count ? &stages.items.items[stages.slowest] : NULL;
    if (status == 0 && slowest && slowest->gain > 0 && slowest->compute >= stages.mean / 100 * FINDING_STAGE_PERCENT) {
        imbalance->cost = slowest->gain * stages.steps;
        imbalance->ranks = slowest->ranks;
        imbalance->steps = stages.steps;
        while (stages.of_rank[imbalance->index] != stages.slowest)
            imbalance->index++;
        snprintf(imbalance->text, sizeof(imbalance->text),
                 "Stage %lld of the pipeline (%s %s) computes %s in a step, the %s stages %s on average: balanced, a "
                 "step of %s would be %s shorter",
                 (long long)slowest->number, slowest->ranks == 1 ? "rank" : "ranks", slowest->list,
                 amount_time(slowest->compute).text, amount_count((int64_t)stages.items.count).text,
                 amount_time(stages.mean).text, amount_time(slowest->step).text, amount_time(slowest->gain).text);
    }
    stages_release(&stages);
    return status;
}
