using System.Text;
using Tunnel2.Http1;

namespace Tunnel2.Policies.Reading;

/// <summary>Which fields a policy may change. Pure.</summary>
internal static class FieldNames
{
    private const int MaxLength = 64;

    private const string OfTheServer = "is written by the server itself";
    private const string OfTheMessage = "frames or routes the message, or belongs to one connection";

    /// <summary>Whether a text can be a field's name.</summary>
    public static bool IsToken(string name) =>
        name.Length is > 0 and <= MaxLength && name.All(char.IsAscii) && FieldSyntax.IsToken(Encoding.ASCII.GetBytes(name));

    /// <summary>Whether a text can be a field's value as a person writes it: printable ASCII, no spaces around it.</summary>
    public static bool IsValue(string value) => value.All(static c => c is >= ' ' and < '\x7f') && value.Trim() == value;

    /// <summary>Whether a field of requests goes no further where <c>Connection</c> lists it (RFC 9110 section 7.6.1).</summary>
    public static bool MayBeOfConnection(string name) =>
        FieldRules.OfRequest(KnownFields.Classify(Encoding.ASCII.GetBytes(name)))
            is FieldRule.Pass or FieldRule.Credentials or FieldRule.Trace;

    /// <summary>Whether many services take one name for the other.</summary>
    public static bool AreAlike(string own, string other) => FieldLookalikes.Are(own, other);

    /// <summary>Why a policy may not change a field of requests; null: it may.</summary>
    public static string? FindRequestObstacle(string name)
    {
        var known = KnownFields.Classify(Encoding.ASCII.GetBytes(name));
        return FieldRules.OfRequest(known) switch
        {
            FieldRule.Pass or FieldRule.Credentials => FindObstacle(known, name),
            FieldRule.Identity or FieldRule.Forwarding or FieldRule.TrustedForwarding or FieldRule.Trace => OfTheServer,
            _ when known is KnownField.Tunnel2 or KnownField.ForwardingLookalike => OfTheServer,
            _ => OfTheMessage,
        };
    }

    /// <summary>
    /// Why a policy may not ask what a visitor has sent in a field; null: it may. What the server writes itself, the service gets in place
    /// of the visitor's.
    /// </summary>
    public static string? FindConditionObstacle(string name)
    {
        var known = KnownFields.Classify(Encoding.ASCII.GetBytes(name));
        return FieldRules.OfRequest(known) is FieldRule.Identity or FieldRule.Forwarding or FieldRule.TrustedForwarding
            || known is KnownField.Tunnel2 or KnownField.ForwardingLookalike
            ? "is written by the server itself; 'address' and 'country' say where a visitor is from"
            : null;
    }

    /// <summary>Why a policy may not change a field of responses; null: it may.</summary>
    public static string? FindResponseObstacle(string name)
    {
        var known = KnownFields.Classify(Encoding.ASCII.GetBytes(name));
        return known is KnownField.Tunnel2 or KnownField.XTunnel2 ? OfTheServer
            : known == KnownField.Host || FieldRules.OfResponse(known) != FieldRule.Pass ? OfTheMessage
            : FindObstacle(known, name);
    }

    private static string? FindObstacle(KnownField known, string name) =>
        known is KnownField.Trailer or KnownField.Date || name.StartsWith("Sec-WebSocket-", StringComparison.OrdinalIgnoreCase)
            ? OfTheMessage
            : null;
}
