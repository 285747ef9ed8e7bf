using System.Globalization;
using System.Text;

namespace Tunnel2.Http1.Tests.Support;

/// <summary>All that a parser says about a head, in a form that can be compared.</summary>
internal sealed record ParsedHead(
    ParseStatus Status, int Consumed, Http1Error Error, int ErrorOffset, string Details, (string Name, string Value)[] Fields)
{
    public string? this[string name] => Fields.FirstOrDefault(f => string.Equals(f.Name, name, StringComparison.OrdinalIgnoreCase)).Value;

    public static ParsedHead Of(RequestHeadParser parser, ParseStatus status, int consumed, byte[] buffer)
    {
        if (status != ParseStatus.Done)
        {
            return new ParsedHead(status, consumed, parser.Error, parser.ErrorOffset, "", []);
        }

        var details = new StringBuilder();
        Append(details, parser.Method, parser.KnownMethod, parser.Target, parser.TargetForm, parser.TargetAuthority, parser.PathAndQuery);
        Append(details, parser.HostCount, parser.Host, parser.ExpectContinue, parser.HasUnknownExpectation);
        AppendCommon(details, parser);
        return new ParsedHead(status, consumed, parser.Error, parser.ErrorOffset, details.ToString(), FieldsOf(parser, buffer));
    }

    public static ParsedHead Of(ResponseHeadParser parser, ParseStatus status, int consumed, byte[] buffer)
    {
        if (status != ParseStatus.Done)
        {
            return new ParsedHead(status, consumed, parser.Error, parser.ErrorOffset, "", []);
        }

        var details = new StringBuilder();
        Append(details, parser.StatusCode, parser.Reason, parser.IsInterim);
        AppendCommon(details, parser);
        return new ParsedHead(status, consumed, parser.Error, parser.ErrorOffset, details.ToString(), FieldsOf(parser, buffer));
    }

    public bool SameAs(ParsedHead other) => (Status, Consumed, Error, ErrorOffset, Details) ==
        (other.Status, other.Consumed, other.Error, other.ErrorOffset, other.Details) && Fields.SequenceEqual(other.Fields);

    public override string ToString() =>
        $"{Status} {Consumed} {Error}@{ErrorOffset} {Details} {string.Join(" | ", Fields.Select(f => f.Name + "=" + f.Value))}";

    private static (string Name, string Value)[] FieldsOf(FieldSectionParser parser, byte[] buffer)
    {
        var fields = new (string, string)[parser.Fields.Length];
        for (int i = 0; i < fields.Length; i++)
        {
            FieldRange field = parser.Fields[i];
            fields[i] = (Latin1.Text(field.Name(buffer)), Latin1.Text(field.Value(buffer)));
            Assert.Equal(KnownFields.Classify(field.Name(buffer)), field.Known);
        }

        return fields;
    }

    private static void AppendCommon(StringBuilder details, MessageHeadParser parser)
    {
        Append(details, parser.Version, parser.ContentLength ?? -1, parser.IsChunked, parser.BodyKind, parser.Connection);
        Append(details, parser.HasUpgrade, parser.Upgrade, parser.IsUpgrade, parser.KeepAlive);
    }

    private static void Append(StringBuilder details, params object[] values) =>
        details.AppendJoin(' ', values.Select(v => Convert.ToString(v, CultureInfo.InvariantCulture))).Append(' ');
}
