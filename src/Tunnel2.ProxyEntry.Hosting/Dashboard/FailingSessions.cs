using Tunnel2.ProxyEntry.Errors;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>
/// Finds the sessions whose requests fail. It counts requests and errors so that older ones count less: half after seven seconds. What is
/// the visitor's own fault, or what access rules refuse, does not count. A session without an error costs nothing. Thread-safe.
/// </summary>
internal sealed class FailingSessions
{
    /// <summary>Sessions that are counted at once; more are not looked at.</summary>
    public const int MostSessions = 256;

    private const double KeptPerSecond = 0.9;
    private const double LeastErrors = 3;
    private const double FailingShare = 0.1;
    private const double CalmShare = 0.03;
    private const double Forgotten = 0.2;

    private static readonly Dictionary<ushort, ProxyErrorLeg> _legs = ProxyErrorCatalog.All
        .Select(static info => (Number: RequestErrorCodes.Number(info.Code), info.Leg))
        .Where(static pair => pair.Number != RequestErrorCodes.Other)
        .ToDictionary(static pair => pair.Number, static pair => pair.Leg);

    /// <summary>
    /// Errors that say nothing about whether the session works: a tunnel that asks every visitor for a login would have an alert all day. A
    /// tier's limit is not among them, because its owner may want another one.
    /// </summary>
    private static readonly HashSet<ushort> _harmless = ProxyErrorCatalog.All
        .Where(static info => info.IsVisitorsFault && info.Error != ProxyError.RateLimit)
        .Select(static info => RequestErrorCodes.Number(info.Code))
        .Where(static number => number != RequestErrorCodes.Other)
        .Append(RequestErrorCodes.VisitorLeft)
        .ToHashSet();

    private readonly Lock _gate = new();
    private readonly Dictionary<string, Failures> _sessions = new(StringComparer.Ordinal);

    /// <summary>The leg that an error belongs to; the backend's, where it answered with a status of 500 or above.</summary>
    public static ProxyErrorLeg LegOf(ushort code) =>
        code == RequestErrorCodes.VisitorLeft ? ProxyErrorLeg.Visitor
        : code == RequestErrorCodes.BackendStatus ? ProxyErrorLeg.Backend
        : _legs.GetValueOrDefault(code, ProxyErrorLeg.Entry);

    /// <summary>The leg's name in messages.</summary>
    public static string NameOf(ProxyErrorLeg leg) => leg switch
    {
        ProxyErrorLeg.Visitor => "visitor",
        ProxyErrorLeg.Entry => "entry",
        ProxyErrorLeg.Uplink => "uplink",
        _ => "backend",
    };

    /// <summary>A session's window of one second.</summary>
    /// <param name="session">Its name.</param>
    /// <param name="start">µs since 1970.</param>
    /// <param name="cell">Its requests.</param>
    public void Add(string session, long start, WindowCell cell)
    {
        lock (_gate)
        {
            if (!_sessions.TryGetValue(session, out var failures))
            {
                if (cell.ErrorsByCode is null || _sessions.Count >= MostSessions)
                {
                    return;
                }

                _sessions.Add(session, failures = new Failures(start));
            }

            failures.Add(start, cell);
        }
    }

    /// <summary>The sessions that fail now.</summary>
    /// <param name="now">µs since 1970.</param>
    public List<Alert> Look(long now)
    {
        var alerts = new List<Alert>();
        lock (_gate)
        {
            foreach (var (name, failures) in _sessions)
            {
                failures.FadeTo(now);
                if (failures.IsOver)
                {
                    _sessions.Remove(name);
                }
                else if (failures.Describe(name) is { } alert)
                {
                    alerts.Add(alert);
                }
            }
        }

        return alerts;
    }

    /// <summary>The clock was set back to <paramref name="now"/>, µs since 1970: from here on what was counted fades.</summary>
    public void SetBack(long now)
    {
        lock (_gate)
        {
            foreach (var failures in _sessions.Values)
            {
                failures.SetBack(now);
            }
        }
    }

    private sealed class Failures(long begin)
    {
        private readonly Dictionary<ushort, double> _errors = [];
        private long _since = begin;
        private long _at = begin;
        private double _requests;
        private bool _isCalm = true;
        private bool _isFailing;

        /// <summary>Nothing that happened lately counts any more.</summary>
        public bool IsOver => _requests < Forgotten || (!_isFailing && _errors.Count == 0);

        public void Add(long start, WindowCell cell)
        {
            FadeTo(start);
            _requests += cell.Requests;
            if (cell.ErrorsByCode is { } errors)
            {
                foreach (var (code, count) in errors)
                {
                    if (!_harmless.Contains(code))
                    {
                        _errors[code] = _errors.GetValueOrDefault(code) + count;
                    }
                }
            }

            var (sum, share) = (_errors.Values.Sum(), Share());
            if (share < CalmShare)
            {
                (_isCalm, _isFailing) = (true, false);
                return;
            }

            // It began when the first of them failed, not when they were enough for an alert.
            _since = _isCalm ? start : _since;
            _isCalm = false;
            _isFailing |= sum >= LeastErrors && share >= FailingShare;
        }

        public void SetBack(long now) => (_at, _since) = (Math.Min(_at, now), Math.Min(_since, now));

        public void FadeTo(long now)
        {
            if (now <= _at)
            {
                return;
            }

            var kept = Math.Pow(KeptPerSecond, (now - _at) / (double)WatermarkFilter.Second);
            _at = now;
            _requests *= kept;
            foreach (var (code, count) in _errors)
            {
                if (count * kept < Forgotten)
                {
                    _errors.Remove(code);
                }
                else
                {
                    _errors[code] = count * kept;
                }
            }
        }

        public Alert? Describe(string session)
        {
            if (!_isFailing || _errors.Count == 0)
            {
                return null;
            }

            var leg = _errors.GroupBy(static pair => LegOf(pair.Key)).MaxBy(static group => group.Sum(static pair => pair.Value))!;
            return new Alert("failing", _since / 1000)
            {
                Subject = session,
                Leg = NameOf(leg.Key),
                Code = RequestErrorCodes.Name(leg.MaxBy(static pair => pair.Value).Key),
                Share = Math.Round(Math.Min(1, leg.Sum(static pair => pair.Value) / Math.Max(_requests, Forgotten)), 2),
            };
        }

        private double Share() => _requests <= 0 ? 0 : Math.Min(1, _errors.Values.Sum() / _requests);
    }
}
