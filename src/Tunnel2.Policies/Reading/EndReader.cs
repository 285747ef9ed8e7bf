using System.Collections.Immutable;
using System.Text;
using Tunnel2.Policies.Tables;

namespace Tunnel2.Policies.Reading;

/// <summary>Reads how a row ends the walk: by allow, deny, a redirect or an answer.</summary>
internal sealed class EndReader
{
    private readonly RowSource _row;
    private readonly EditReader _edits;

    public EndReader(RowSource row, EditReader edits)
    {
        _row = row;
        _edits = edits;
    }

    /// <summary>Reads which end it is.</summary>
    public PolicyEnd ReadEnd()
    {
        var end = PolicyEnd.None;
        foreach (var (key, value) in new[] { ("allow", PolicyEnd.Allow), ("deny", PolicyEnd.Deny) })
        {
            if (_row.Find(key) is { } node)
            {
                end = value;
                if (node is not { Kind: PolicyNodeKind.Switch, Text: "true" })
                {
                    _row.Report(node, $"{key}: is true or left out");
                }
            }
        }

        return _row.Has("redirect") ? PolicyEnd.Redirect : _row.Has("answer") ? PolicyEnd.Answer : end;
    }

    /// <summary>Reads the redirect; null without one.</summary>
    public PolicyRedirect? ReadRedirect()
    {
        if (_row.Find("redirect") is not { } node)
        {
            return null;
        }

        var status = 302;
        if (_row.Find("status") is { } number
            && (!RowSource.TryReadNumber(number, out status) || status is not (301 or 302 or 303 or 307 or 308)))
        {
            _row.Report(number, "status: is not 301, 302, 303, 307 or 308");
        }

        var keepsPath = _row.ReadSwitch(_row.Node, "keep-path");
        var target = node.Text;
        var isUrl = IsUrl(target, out var hasPathOnly);
        if (node.Kind != PolicyNodeKind.Text
            || target.Length > 1024
            || target.Any(static c => c is <= ' ' or >= '\x7f' or '\\' or '"' or '<' or '>')
            || !(isUrl || IsOwnPath(target)))
        {
            _row.Report(node, "redirect: is not a URL (http, https) or a path of this tunnel that begins with one slash");
        }
        else if (keepsPath && !(isUrl && hasPathOnly))
        {
            _row.Report(
                node, "keep-path: goes with a URL that has no query and does not end with a slash; the path of the request follows it");
        }

        return new PolicyRedirect(status, target, keepsPath);
    }

    /// <summary>Reads the answer; null without one, or when it cannot be read.</summary>
    public PolicyAnswer? ReadAnswer()
    {
        if (_row.Find("answer") is not { } node)
        {
            return null;
        }

        if (node.Kind != PolicyNodeKind.Table)
        {
            _row.Report(node, "answer: is not a table: { \"status\": 503, \"body\": \"We are back at noon.\" }");
            return null;
        }

        _row.ReportTwice(node, "answer: ");
        _row.ReportUnknown(node, "answer", "status", "body", "type", "headers");
        var status = 200;
        if (RowSource.Member(node, "status") is { } number
            && (!RowSource.TryReadNumber(number, out status) || status is < 200 or > 599 or 205 or 304))
        {
            _row.Report(number, "answer: the status is not 200 to 599, without 205 and 304");
        }

        var body = _row.TextOf(node, "body", "answer") ?? "";
        if (Encoding.UTF8.GetByteCount(body) > 4096)
        {
            _row.Report(node, "answer: the body is longer than 4096 bytes");
        }
        else if (status == 204 && body.Length > 0)
        {
            _row.Report(node, "answer: the status 204 has no body");
        }

        var type = _row.TextOf(node, "type", "answer") ?? "text/plain; charset=utf-8";
        if (!FieldNames.IsValue(type) || type.Length > 128 || !type.Contains('/', StringComparison.Ordinal))
        {
            _row.Report(node, "answer: the type is not one, such as text/html; charset=utf-8");
        }

        var fields = ImmutableArray<KeyValuePair<string, string>>.Empty;
        if (RowSource.Member(node, "headers") is { } headers)
        {
            fields = [.. _edits.ReadFields(headers, "answer: headers", static name =>
                FieldNames.FindResponseObstacle(name)
                ?? (name.Equals("Content-Type", StringComparison.OrdinalIgnoreCase) ? "is written as 'type'" : null))];
        }

        return new PolicyAnswer(status, type, Encoding.UTF8.GetBytes(body)) { Fields = fields };
    }

    private static bool IsUrl(string target, out bool hasPathOnly)
    {
        hasPathOnly = false;
        if (!Uri.TryCreate(target, UriKind.Absolute, out var url)
            || (url.Scheme != Uri.UriSchemeHttp && url.Scheme != Uri.UriSchemeHttps)
            || url.Host.Length == 0
            || url.UserInfo.Length > 0)
        {
            return false;
        }

        hasPathOnly = !target.EndsWith('/') && target.AsSpan().IndexOfAny('?', '#') < 0;
        return true;
    }

    private static bool IsOwnPath(string target) => target.StartsWith('/') && !target.StartsWith("//", StringComparison.Ordinal);
}
