// The page of the control server, page.html beside this file's folder. As a resource in Swift code it would be a literal of
// 98,000 numbers, which takes 30 s to compile.
#pragma once

#include <stddef.h>

/// The size of the page, in bytes.
size_t squall_page_size(void);

/// The byte at an index; 0 behind the end.
unsigned char squall_page_byte(size_t index);
