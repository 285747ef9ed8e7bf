namespace Tunnel2.Http1;

/// <summary>
/// Reads a trailer section: field lines and the empty line (RFC 9112 section 7.1.2). Fields that frame or route a message are refused:
/// no sender has an honest reason to put them there. Reusable after <see cref="Reset"/>, not thread-safe.
/// </summary>
internal sealed class TrailerParser : FieldSectionParser
{
    /// <summary>Makes a parser that holds all sections to <paramref name="limits"/>; ready for the first one.</summary>
    public TrailerParser(Http1Limits limits)
        : base(limits)
    {
        Reset();
    }

    /// <summary>Forgets the section, so that the next one can be read.</summary>
    public void Reset() => ResetSection(hasStartLine: false);

    /// <summary>Moves all ranges, for a buffer that has <paramref name="delta"/> more bytes in front.</summary>
    public void Shift(int delta) => ShiftFields(delta);

    /// <inheritdoc/>
    protected override ParseStatus ParseStartLine(ReadOnlySpan<byte> buffer, ref int position) => ParseStatus.Done;

    // What the rule drops is harmless here: the forwarder drops it.
    /// <inheritdoc/>
    protected override Http1Error OnField(ReadOnlySpan<byte> buffer, in FieldRange field) =>
        FieldRules.OfTrailer(field.Known, field.Name(buffer)) == FieldRule.Refuse ? Http1Error.ForbiddenTrailer : Http1Error.None;

    /// <inheritdoc/>
    protected override Http1Error OnEnd(ReadOnlySpan<byte> buffer) => Http1Error.None;
}
