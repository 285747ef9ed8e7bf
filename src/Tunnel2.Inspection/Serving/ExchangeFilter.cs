using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Serving;

/// <summary>Which exchanges a list shows. Text is looked for in what is shown, so that no search finds a secret. Immutable.</summary>
internal sealed class ExchangeFilter
{
    /// <summary>How many bytes of a body are searched.</summary>
    private const int SearchedBody = 64 * 1024;

    private const int MaxText = 200;

    private readonly string? _method;
    private readonly string? _status;
    private readonly string? _kind;
    private readonly string _text;

    /// <summary>Reads the parameters <c>method</c>, <c>status</c>, <c>kind</c> and <c>q</c>.</summary>
    public ExchangeFilter(InspectorRequest request)
    {
        _method = Given(request["method"]);
        _status = Given(request["status"])?.ToLowerInvariant();
        _kind = Given(request["kind"]);
        _text = request["q"] is { } text ? text[..Math.Min(text.Length, MaxText)].Trim() : "";
    }

    /// <summary>Whether text is looked for, which takes longer than all else.</summary>
    public bool IsSearch => _text.Length > 0;

    /// <summary>Whether it passes an exchange.</summary>
    public bool Passes(ExchangeCapture capture, MaskingRules rules)
    {
        if (_status is not null && !PassesStatus(capture))
        {
            return false;
        }

        if (_kind is not null && !_kind.Equals(ExchangeJson.KindOf(capture), StringComparison.OrdinalIgnoreCase))
        {
            return false;
        }

        if (_method is null && !IsSearch)
        {
            return true;
        }

        var request = capture.Request;
        return (_method is null || _method.Equals(HeadText.Of(request.Method), StringComparison.OrdinalIgnoreCase))
            && (!IsSearch || Contains(capture, request, rules));
    }

    private bool PassesStatus(ExchangeCapture capture) => _status switch
    {
        "error" => capture.Error is not null || capture.Status >= 400,
        "open" => !capture.IsEnded,
        // A status above 599 is a failure of the service, as in the metrics.
        [>= '1' and <= '5', 'x', 'x'] => Math.Min(capture.Status / 100, 5) == _status[0] - '0',
        _ => int.TryParse(_status, out var status) && status == capture.Status,
    };

    private bool Contains(ExchangeCapture capture, RequestHead request, MaskingRules rules)
    {
        var response = capture.Response;
        return Has(HeadText.Of(request.Method) + " " + rules.OfUrl(HeadText.Of(request.Target)))
            || Has(capture.Error)
            || request.Fields.Concat(response.Fields).Any(field => HasField(field, rules))
            || capture.RequestTrailers.Concat(capture.ResponseTrailers).Any(field => HasField(field, rules))
            || HasBody(BodyView.OfRequest(capture, rules, SearchedBody))
            || HasBody(BodyView.OfResponse(capture, rules, SearchedBody))
            || capture.Messages.Kept.Any(message => Has(MessageView.Of(message, rules).Text));
    }

    private bool HasField(HeadField field, MaskingRules rules)
    {
        var name = HeadText.Of(field.Name);
        return Has(name + ": " + rules.OfField(name, HeadText.Of(field.Value)));
    }

    private bool HasBody(BodyView body) => body.IsText && Has(body.Text);

    private bool Has(string? text) => text is not null && text.Contains(_text, StringComparison.OrdinalIgnoreCase);

    private static string? Given(string? value) => string.IsNullOrEmpty(value) ? null : value;
}
