// libFuzzer on the formatters of SAM and PAF: no write beyond the space that was reserved, one line a record, columns
// that agree with each other, and CIGAR and MD that give back the reference's bases.
//
// The bytes choose a reference with runs of other characters, reads with any names, and records that lie within both.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "records/sam_lines.hpp"
#include "text/bam_records.hpp"
#include "text/paf_text.hpp"
#include "text/sam_text.hpp"

using namespace gpualign;

namespace {

void expect(bool holds) {
    if (!holds) abort();
}

// Texts one after another, in memory of exactly their size so that a read beyond it is seen.
class Joined {
public:
    void add(const std::string& text) {
        text_ += text;
        offsets_.push_back(int64_t(text_.size()));
    }
    void finish() {
        exact_.reset(new uint8_t[text_.size()]);
        std::copy(text_.begin(), text_.end(), exact_.get());
    }
    const uint8_t* data() const { return exact_.get(); }
    const int64_t* offsets() const { return offsets_.data(); }
    int64_t size(size_t i) const { return offsets_[i + 1] - offsets_[i]; }

private:
    std::string text_;
    std::vector<int64_t> offsets_{0};
    std::unique_ptr<uint8_t[]> exact_;
};

class Batch {
public:
    explicit Batch(FuzzedDataProvider& bytes) : bytes_(bytes) {
        make_reference();
        make_reads();
        while (records_.size() < reads_) make_records();
        read_bases_.finish();
        names_.finish();
        qualities_.finish();
        comments_.finish();
        contig_names_.finish();
    }

    size_t reads() const { return reads_; }
    ReferenceView reference() const {
        return {words_.data(), uint64_t(contigs_.back()), contigs_.data(), contigs_.size() - 1, run_starts_.data(),
            run_ends_.data(), run_bases_.data(), run_starts_.size()};
    }
    ContigNames contig_names() const { return {contig_names_.data(), contig_names_.offsets()}; }
    ReadsView view_of_reads() const {
        return {names_.data(), read_bases_.data(), with_qualities_ ? qualities_.data() : nullptr,
            with_comments_ ? comments_.data() : nullptr, mates_.empty() ? nullptr : mates_.data(), names_.offsets(),
            read_bases_.offsets(), with_comments_ ? comments_.offsets() : nullptr};
    }
    RecordsView view_of_records() const {
        return {flag_.data(), contig_.data(), position_.data(), mapq_.data(), score_.data(), distance_.data(),
            cigar_.data(), cigar_offsets_.data(), records_offsets_.data()};
    }

private:
    std::string text(const char* alphabet, size_t maximum) {
        const std::string read_text(alphabet);
        std::string out(bytes_.ConsumeIntegralInRange<size_t>(0, maximum), read_text[0]);
        for (char& c : out) c = read_text[bytes_.ConsumeIntegralInRange<size_t>(0, read_text.size() - 1)];
        return out;
    }

    void make_reference() {
        for (int c = bytes_.ConsumeIntegralInRange(1, 3); c > 0; c--) {
            contigs_.push_back(contigs_.back() + bytes_.ConsumeIntegralInRange(1, 80));
            contig_names_.add("c" + text("a1.|\xe9", 40));
        }
        const auto bases = uint32_t(contigs_.back());
        words_.resize(bases / 32 + 2);
        for (uint32_t at = 0; at < bases; at++)
            words_[at / 32] |= uint64_t(bytes_.ConsumeIntegralInRange(0, 3)) << (2 * (at % 32));
        for (uint32_t at = 0; bytes_.ConsumeBool();) {
            const uint32_t begin = at + bytes_.ConsumeIntegralInRange(0u, 40u),
                           end = begin + bytes_.ConsumeIntegralInRange(1u, 9u);
            if (end > bases) break;
            run_starts_.push_back(begin);
            run_ends_.push_back(at = end);
            run_bases_.push_back(uint8_t("NRYK"[bytes_.ConsumeIntegralInRange(0, 3)]));
        }
    }

    void make_reads() {
        with_qualities_ = bytes_.ConsumeBool();
        with_comments_ = bytes_.ConsumeBool();
        const bool pairs = bytes_.ConsumeBool();
        reads_ = bytes_.ConsumeIntegralInRange<size_t>(1, 3) * (pairs ? 2 : 1);
        for (size_t i = 0; i < reads_; i++) {
            const std::string read_text = text("ACGTNRYKM", 70);
            read_bases_.add(read_text);
            std::string quality(read_text.size(), '!');
            for (char& c : quality) c = char(bytes_.ConsumeIntegralInRange(33, 126));
            qualities_.add(quality);
            names_.add(bytes_.ConsumeBool() ? std::string(bytes_.ConsumeIntegralInRange<size_t>(250, 260), 'n')
                                            : bytes_.ConsumeRandomLengthString(30));
            comments_.add(text("A:Zi1\t", 20));
            if (pairs) mates_.push_back(i % 2 ? kSecondMate : kFirstMate);
        }
    }

    // A read's records: unmapped, or a primary one and others.
    void make_records() {
        const size_t read = records_.size();
        const int count = bytes_.ConsumeIntegralInRange(1, 3);
        const bool mapped = read_bases_.size(read) > 0 && bytes_.ConsumeBool();
        for (int r = 0; r < (mapped ? count : 1); r++) {
            uint16_t flag = bytes_.ConsumeBool() ? kFlagReverse : 0;
            if (!mapped) flag = kFlagUnmapped;
            if (r) flag = uint16_t(flag | (bytes_.ConsumeBool() ? kFlagSecondary : kFlagSupplementary));
            flag_.push_back(flag);
            mapq_.push_back(mapped ? bytes_.ConsumeIntegral<uint8_t>() : uint8_t(0));
            score_.push_back(bytes_.ConsumeIntegral<int32_t>());
            distance_.push_back(bytes_.ConsumeIntegral<int32_t>());
            align(mapped, read_bases_.size(read));
        }
        records_.push_back(flag_.size());
        records_offsets_.push_back(int64_t(flag_.size()));
    }

    // A position and a CIGAR for `length` bases.
    void align(bool mapped, int64_t length) {
        const auto contig = bytes_.ConsumeIntegralInRange<size_t>(0, contigs_.size() - 2);
        const int64_t bases = contigs_[contig + 1] - contigs_[contig];
        const int64_t position = mapped ? bytes_.ConsumeIntegralInRange<int64_t>(0, bases - 1) : 0;
        contig_.push_back(mapped ? int32_t(contig) : -1);
        position_.push_back(position);
        int64_t free = bases - position;
        const auto up_to = [&](int64_t maximum) {
            return maximum < 1 ? 0 : bytes_.ConsumeIntegralInRange<int64_t>(0, maximum);
        };
        const auto push = [&](uint32_t op, int64_t n) {
            if (!n) return;
            cigar_.push_back(uint32_t(n) << 4 | op);
            if (op != kCigarD) length -= n;
            if (op != kCigarI && op != kCigarS) free -= n;
        };
        if (mapped) {
            if (bytes_.ConsumeBool()) push(kCigarS, up_to(length - 1));
            push(kCigarM, std::min(free, std::max<int64_t>(1, up_to(length))));
            for (int gap = bytes_.ConsumeIntegralInRange(0, 3); gap > 0 && length > 1 && free > 1; gap--) {
                if (bytes_.ConsumeBool()) push(kCigarD, up_to(free - 1));
                else push(kCigarI, up_to(length - 1));
                push(kCigarM, std::min(free, std::max<int64_t>(1, up_to(length))));
            }
            push(kCigarS, length);
        }
        cigar_offsets_.push_back(int64_t(cigar_.size()));
    }

    FuzzedDataProvider& bytes_;
    std::vector<int64_t> contigs_{0};
    std::vector<uint64_t> words_;
    std::vector<uint32_t> run_starts_, run_ends_;
    std::vector<uint8_t> run_bases_;
    size_t reads_ = 0;
    bool with_qualities_ = false, with_comments_ = false;
    Joined contig_names_, read_bases_, qualities_, names_, comments_;
    std::vector<uint8_t> mates_;
    std::vector<size_t> records_;
    std::vector<uint16_t> flag_;
    std::vector<int32_t> contig_, score_, distance_;
    std::vector<int64_t> position_, cigar_offsets_{0}, records_offsets_{0};
    std::vector<uint8_t> mapq_;
    std::vector<uint32_t> cigar_;
};

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts(1);
    for (char c : text) {
        if (c == at) parts.emplace_back();
        else parts.back() += c;
    }
    return parts;
}

std::string tag(const std::vector<std::string>& columns, const char* name) {
    for (size_t i = 11; i < columns.size(); i++)
        if (columns[i].rfind(name, 0) == 0) return columns[i].substr(5);
    return "";
}

// The reference's bases under a record as its CIGAR, SEQ and MD say.
std::string described(const std::string& cigar, const std::string& sequence, const std::string& md) {
    std::string aligned, out;
    size_t query = 0;
    for (const char* p = cigar.c_str(); *p;) {
        char* op;
        const size_t n = std::strtoul(p, &op, 10);
        expect(n > 0);
        if (*op == 'M' || *op == '=' || *op == 'X') aligned += sequence.substr(query, n);
        if (*op != 'D' && *op != 'H') query += n;
        p = op + 1;
    }
    expect(query == sequence.size());
    size_t at = 0;
    for (const char* p = md.c_str(); *p;) {
        char* rest;
        const size_t same = std::strtoul(p, &rest, 10);
        expect(rest > p && at + same <= aligned.size());
        out += aligned.substr(at, same);
        at += same;
        p = rest;
        if (*p == '^') {
            for (p++; *p >= 'A' && *p <= 'Z'; p++) out += *p;
        } else if (*p) {
            out += *p++;
            at++;
        }
    }
    expect(at == aligned.size());
    return out;
}

void check_line(const Batch& batch, const std::string& line, size_t read, size_t record, const SamOptions& options) {
    const ReadsView reads = batch.view_of_reads();
    const RecordsView records = batch.view_of_records();
    const std::vector<std::string> columns = split(line, '\t');
    expect(columns.size() >= 11 && !columns[0].empty());
    expect(std::strtoul(columns[1].c_str(), nullptr, 10) == records.flag[record]);
    expect(columns[10] == "*" || columns[10].size() == columns[9].size());
    expect(!options.read_group_size || tag(columns, "RG:Z:") == "group");
    if (!records.mapped(record)) {
        expect(columns[5] == "*" && (columns[9] == "*") == (reads.length(read) == 0));
        return;
    }
    if (columns[9] == "*") return;
    const ReferenceView reference = batch.reference();
    const auto begin = uint64_t(reference.contig_offsets[records.contig[record]] + records.position[record]);
    std::string read_text(size_t(records.end(record) - records.position[record]), '?');
    reference.sequence(begin, begin + read_text.size(), read_text.data());
    expect(described(columns[5], columns[9], tag(columns, "MD:Z:")) == read_text);
}

// What SamLines makes of a record, in memory of exactly its size.
std::string line_of(const Batch& batch, const Text& record) {
    const std::vector<uint8_t> exact(record.data(), record.data() + record.size());
    BamRecords records(exact.data(), exact.size());
    SamLines lines(batch.contig_names(), batch.reference().contigs);
    lines.record(records.next());
    expect(!records.more());
    const std::string line(lines.text().data(), lines.text().size());
    expect(!line.empty() && line.back() == '\n');
    return line.substr(0, line.size() - 1);
}

// As BAM each line is a record of the size that it says, or refused; its line is a record with the same line.
void check_binary(const Batch& batch, const std::vector<std::string>& lines) {
    const size_t contigs = batch.reference().contigs;
    for (const std::string& line : lines) {
        BamWriter writer(batch.contig_names(), contigs);
        try {
            writer.line(line);
        } catch (const std::invalid_argument&) {  // what was copied from a comment is not a tag
            continue;
        }
        uint32_t size = 0;
        expect(writer.text().size() > sizeof size);
        std::memcpy(&size, writer.text().data(), sizeof size);
        expect(size + sizeof size == writer.text().size());
        const std::string back = line_of(batch, writer.text());
        BamWriter again(batch.contig_names(), contigs);
        again.line(back);
        expect(line_of(batch, again.text()) == back);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    FuzzedDataProvider bytes(data, size);
    SamOptions options;
    options.eqx = bytes.ConsumeBool(), options.soft_supplementary = bytes.ConsumeBool(),
    options.secondary_sequence = bytes.ConsumeBool();
    options.read_group = "group", options.read_group_size = bytes.ConsumeBool() ? 5 : 0;
    options.suboptimal_score = options.hits = options.mate_qualities = bytes.ConsumeBool();
    options.cs = CsForm(bytes.ConsumeIntegralInRange(0, 2));
    const Batch batch(bytes);
    const ReferenceView reference = batch.reference();
    const RecordsView records = batch.view_of_records();
    SamWriter all(reference, batch.contig_names(), batch.view_of_reads(), records, options, batch.reads());
    PafWriter paf(reference, batch.contig_names(), batch.view_of_reads(), records, options.eqx, options.cs);
    std::string one_by_one;
    for (size_t read = 0; read < batch.reads(); read++) {
        all.read(read);
        paf.read(read);
        // a writer of its own makes space for this read alone
        SamWriter single(reference, batch.contig_names(), batch.view_of_reads(), records, options, batch.reads());
        single.read(read);
        const std::string text(single.text().data(), single.text().size());
        one_by_one += text;
        const std::vector<std::string> lines = split(text, '\n');
        expect(lines.size() == records.primary(read + 1) - records.primary(read) + 1 && lines.back().empty());
        for (size_t r = 0; r + 1 < lines.size(); r++)
            check_line(batch, lines[r], read, records.primary(read) + r, options);
    }
    expect(one_by_one == std::string(all.text().data(), all.text().size()));
    check_binary(batch, split(one_by_one, '\n'));
    return 0;
}
