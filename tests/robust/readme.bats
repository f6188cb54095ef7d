# The tests that README.md of this folder names exist.

load ../cli/common

@test "every test that the table names exists" {
    local line part file name count=0
    while IFS= read -r line; do
        file=${line%%: *} name=${line#*: }
        grep -qxF "@test \"$name\" {" "$BATS_TEST_DIRNAME/$file.bats" || fail "$file.bats has no test '$name'"
        count=$((count + 1))
    done < <(awk -F ' [|] ' '/^[|] / { print $2 }' "$BATS_TEST_DIRNAME/README.md" | sed 's/<br>/\n/g' | grep -E '^[a-z]+: ')
    [ "$count" -gt 100 ] || fail "only $count tests are named"
}
