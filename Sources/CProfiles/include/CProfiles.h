// The shipped profiles, the files of the folder Profiles. As resources in Swift code they would be literals of 120,000 numbers,
// which take 20 s to compile.
#pragma once

#include <stddef.h>

/// The offset of a file by its number from 0; the end of all behind the last one.
size_t squall_profile_start(size_t index);

/// The byte at an offset; 0 behind each file, and behind the last one. No file has a zero byte.
unsigned char squall_profile_byte(size_t offset);
