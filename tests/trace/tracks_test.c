#include "tests/unit.h"

#include "trace/tracks.h"

UNIT_TEST(test_a_track_is_made_once_and_stays)
{
    struct tracks tracks = {0};
    bool is_new;
    struct track *first = tracks_put(&tracks, TRACK_STREAM, 0, 1, 7, &is_new);
    assert_true(is_new);
    for (uint32_t stream = 8; stream < 1000; stream++)
        tracks_put(&tracks, TRACK_STREAM, 0, 1, stream, NULL);
    assert_ptr_equal(tracks_put(&tracks, TRACK_STREAM, 0, 1, 7, &is_new), first);
    assert_false(is_new);
    assert_ptr_not_equal(tracks_put(&tracks, TRACK_STREAM, 1, 1, 7, NULL), first);
    assert_ptr_not_equal(tracks_put(&tracks, TRACK_STREAM, 0, 2, 7, NULL), first);
    assert_ptr_not_equal(tracks_put(&tracks, TRACK_SYNC, 0, 1, 7, NULL), first);
    assert_null(tracks_get(&tracks, TRACK_THREAD, 0, 0, 7));
    tracks_release(&tracks);
}

UNIT_TEST(test_a_gpu_has_its_number_unless_it_is_taken)
{
    struct rows rows = {0};
    uint32_t pid;
    assert_int_equal(rows_take_pid(&rows, 1), 0);
    assert_int_equal(rows_gpu_pid(&rows, 0, 0, &pid), 0);
    assert_int_equal(pid, 0);
    assert_int_equal(rows_gpu_pid(&rows, 0, 1, &pid), 0);
    assert_int_equal(pid, TRACKS_GPU_PID + 1);
    assert_int_equal(rows_gpu_pid(&rows, 3, 0, &pid), 0);
    assert_int_equal(pid, TRACKS_GPU_PID + 3 * 1024);
    map_release(&rows.taken_pids);
    map_release(&rows.taken_tids);
}

UNIT_TEST(test_rows_have_the_numbers_of_the_system_and_others_beyond)
{
    struct rows rows = {0};
    struct tracks tracks = {0};
    struct track *thread = tracks_put(&tracks, TRACK_THREAD, 0, 0, 4321, NULL);
    struct track *stream = tracks_put(&tracks, TRACK_STREAM, 0, 1, 7, NULL);
    struct track *zero = tracks_put(&tracks, TRACK_STREAM, 0, 1, 0, NULL);
    struct track *same = tracks_put(&tracks, TRACK_STREAM, 0, 2, 7, NULL);
    lanes_must_collect(&stream->lanes);
    lanes_collect(&stream->lanes, 10, 20);
    lanes_collect(&stream->lanes, 15, 25);
    assert_int_equal(tracks_number(&tracks, &rows), 0);
    assert_int_equal(thread->tids[0], 4321);
    assert_int_equal(track_row(stream, 10, 20).tid, 7);
    assert_int_equal(track_row(stream, 15, 25).tid, TRACKS_EXTRA_TID);
    assert_int_equal(zero->tids[0], TRACKS_EXTRA_TID + 1);
    assert_int_equal(same->tids[0], TRACKS_EXTRA_TID + 2);
    tracks_release(&tracks);
    map_release(&rows.taken_pids);
    map_release(&rows.taken_tids);
}

UNIT_MAIN(NULL, NULL)
