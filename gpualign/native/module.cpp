#include "bindings.hpp"

#define GPUALIGN_STRING_(x) #x
#define GPUALIGN_STRING(x) GPUALIGN_STRING_(x)

NB_MODULE(GPUALIGN_MODULE, m) {
    m.doc() = "gpualign's CPU kernels, parsers and formatters, built for one instruction-set level.";
    m.attr("isa") = GPUALIGN_STRING(GPUALIGN_MODULE);
    nanobind::set_leak_warnings(false);
#define GPUALIGN_BIND(name) gpualign::bind_##name(m);
    GPUALIGN_BINDINGS(GPUALIGN_BIND)
}
