namespace Tunnel2.Http1;

/// <summary>
/// Reads a trailer section: field lines and the empty line (RFC 9112 section 7.1.2). Fields that frame or route a message are refused,
/// because an honest sender has no reason to put them there. Reusable after <see cref="Reset"/>, not thread-safe.
/// </summary>
internal sealed class TrailerParser : FieldSectionParser
{
    /// <summary>Makes a parser with limits; ready for the first section.</summary>
    public TrailerParser(Http1Limits limits)
        : base(limits)
    {
        Reset();
    }

    /// <summary>Prepares for the next section.</summary>
    public void Reset() => ResetSection(hasStartLine: false);

    /// <summary>Shifts all ranges, for a buffer that has <paramref name="delta"/> more bytes at its start.</summary>
    public void Shift(int delta) => ShiftFields(delta);

    /// <inheritdoc/>
    protected override ParseStatus ParseStartLine(ReadOnlySpan<byte> buffer, ref int position) => ParseStatus.Done;

    // Fields that the rule drops are harmless here: the forwarder drops them.
    /// <inheritdoc/>
    protected override Http1Error OnField(ReadOnlySpan<byte> buffer, in FieldRange field) =>
        FieldRules.OfTrailer(field.Known, field.Name(buffer)) == FieldRule.Refuse ? Http1Error.ForbiddenTrailer : Http1Error.None;

    /// <inheritdoc/>
    protected override Http1Error OnEnd(ReadOnlySpan<byte> buffer) => Http1Error.None;
}
