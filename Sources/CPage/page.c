#include "CPage.h"

#if !__has_embed("page.html")
#error "This needs clang 19 or newer, as Swift 6.2 has it."
#endif

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char page[] = {
#embed "page.html"
};

size_t squall_page_size(void) { return sizeof page; }

unsigned char squall_page_byte(size_t index) { return index < sizeof page ? page[index] : 0; }
