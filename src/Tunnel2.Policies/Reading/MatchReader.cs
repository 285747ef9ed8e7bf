using System.Collections.Immutable;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Policies.Paths;
using Tunnel2.Policies.Tables;

namespace Tunnel2.Policies.Reading;

/// <summary>Reads which requests a row is for.</summary>
internal sealed class MatchReader
{
    private readonly RowSource _row;

    public MatchReader(RowSource row) => _row = row;

    /// <summary>Reads it; a key that is left out matches everything.</summary>
    public PolicyMatch ReadMatch() => new()
    {
        Paths = ReadPaths(),
        Methods = _row.ReadTexts("method", static text =>
            text.Length is > 0 and <= 32 && text.All(static c => char.IsAsciiLetterUpper(c) || c == '-')
                ? null
                : "is not a method in upper case"),
        Headers = ReadHeaders(),
        Networks = ReadNetworks(),
        Countries = _row.ReadTexts("country", static text => text.Length == 2 && text.All(char.IsAsciiLetterUpper)
            ? null
            : "is not a country: two letters of ISO 3166 in upper case, or XX for one that is not known"),
    };

    private ImmutableArray<PathPattern> ReadPaths()
    {
        var paths = ImmutableArray.CreateBuilder<PathPattern>();
        _row.ReadTexts("path", text =>
        {
            var mistake = PathPattern.TryParse(text, out var pattern);
            if (pattern is not null)
            {
                paths.Add(pattern);
            }

            return mistake;
        });
        return paths.ToImmutable();
    }

    private ImmutableArray<IPNetwork> ReadNetworks()
    {
        var networks = ImmutableArray.CreateBuilder<IPNetwork>();
        _row.ReadTexts("address", text =>
        {
            var mistake = TryParseNetwork(text, out var network);
            networks.Add(network);
            return mistake;
        });
        return networks.ToImmutable();
    }

    private ImmutableArray<HeaderTest> ReadHeaders()
    {
        if (_row.Find("header") is not { } node)
        {
            return [];
        }

        if (node is not { Kind: PolicyNodeKind.Table, Members.Count: > 0 and <= RowSource.MostOfList })
        {
            _row.Report(
                node, "header: is not a table of names: { \"X-Env\": \"beta\" }; the value is a text, *a part of it*, true or false");
            return [];
        }

        _row.ReportTwice(node, "header: ");
        var tests = ImmutableArray.CreateBuilder<HeaderTest>();
        foreach (var (name, value) in node.Members)
        {
            if (!FieldNames.IsToken(name))
            {
                _row.Report(value, $"header: '{PolicyReader.Short(name)}' is not the name of a header");
            }
            else if (FieldNames.FindConditionObstacle(name) is { } obstacle)
            {
                _row.Report(value, $"header: {name} {obstacle}");
            }
            else if (value.Kind == PolicyNodeKind.Switch)
            {
                tests.Add(new HeaderTest(name, value.Text == "true" ? HeaderTestKind.Present : HeaderTestKind.Absent, ""));
            }
            else if (value.Kind != PolicyNodeKind.Text || value.Text.Trim('*').Length == 0 || !FieldNames.IsValue(value.Text))
            {
                _row.Report(value, $"header: the value of {name} is not a text of printable ASCII, true or false");
            }
            else if (value.Text.Length > 2 && value.Text.StartsWith('*') && value.Text.EndsWith('*'))
            {
                tests.Add(new HeaderTest(name, HeaderTestKind.Contains, value.Text[1..^1]));
            }
            else if (value.Text.Contains('*', StringComparison.Ordinal))
            {
                _row.Report(
                    value, $"header: the value of {name} has a '*' that is not at both ends; *text* means that it is somewhere in it");
            }
            else
            {
                tests.Add(new HeaderTest(name, HeaderTestKind.Equal, value.Text));
            }
        }

        return tests.ToImmutable();
    }

    private static string? TryParseNetwork(string text, out IPNetwork network)
    {
        network = default;
        var slash = text.IndexOf('/', StringComparison.Ordinal);
        var host = slash < 0 ? text : text[..slash];
        if (!IPAddress.TryParse(host, out var address)
            || host.AsSpan().IndexOfAny('%', '[') >= 0
            || (address.AddressFamily == AddressFamily.InterNetwork && address.ToString() != host))
        {
            return "is neither an IP address nor a network such as 10.0.0.0/8";
        }

        var most = address.AddressFamily == AddressFamily.InterNetwork ? 32 : 128;
        var bits = most;
        if (slash >= 0
            && (!int.TryParse(text.AsSpan(slash + 1), NumberStyles.None, CultureInfo.InvariantCulture, out bits) || bits > most))
        {
            return FormattableString.Invariant($"has a prefix length that is not between 0 and {most}");
        }

        if (address.IsIPv4MappedToIPv6)
        {
            return "is IPv4 within IPv6; write it as IPv4";
        }

        return IPNetwork.TryParse($"{address}/{bits}", out network) && network.BaseAddress.Equals(address)
            ? null
            : "has bits set after its prefix";
    }
}
