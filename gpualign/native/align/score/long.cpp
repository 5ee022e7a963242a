// Long pairs, by gap model.
#include "align/score/long.hpp"

#include "align/score/engines.hpp"

namespace gpualign {
namespace nw {
namespace {

template <bool Affine, bool Local>
bool align_by(const Scheme& scheme, Pair& pair, bool traced, int64_t table_bytes, int threads) {
    if (!LongPair<Affine, Local>::suits(scheme, pair, traced, table_bytes)) return false;
    LongPair<Affine, Local>(scheme, threads).run(pair, traced, table_bytes);
    return true;
}

}  // namespace

bool align_with_all_lanes(const Scheme& scheme, Pair& pair, bool traced, int64_t table_bytes, int threads) {
    if (scheme.local) return align_by<true, true>(scheme, pair, traced, table_bytes, threads);
    return scheme.affine() ? align_by<true, false>(scheme, pair, traced, table_bytes, threads)
                           : align_by<false, false>(scheme, pair, traced, table_bytes, threads);
}

}  // namespace nw
}  // namespace gpualign
